package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

var errDuration = errors.New("give a positive duration with a unit, like 90s or 5m")

// sourceID is what a request's source may be.
var sourceID = regexp.MustCompile(`^[A-Za-z0-9]([-._A-Za-z0-9]{0,61}[A-Za-z0-9])?$`)

// runCheck runs the check that a field's tag names: its name, then its arguments.
func runCheck(check, text string) error {
	name, rest, _ := strings.Cut(check, " ")
	arguments := strings.Fields(rest)
	switch name {
	case "":
		return nil
	case "required":
		return checkRequired(text)
	case "hostport":
		return checkHostPort(text)
	case "httpurl":
		return checkHTTPURL(text)
	case "source":
		if !sourceID.MatchString(text) {
			return errors.New("give 1 to 63 letters, digits, '-', '.' or '_'")
		}
		return nil
	case "duration":
		if duration, err := time.ParseDuration(text); err != nil || duration <= 0 {
			return errDuration
		}
		return nil
	case "oneof":
		if !slices.Contains(arguments, text) {
			return fmt.Errorf("give one of %s", strings.Join(arguments, ", "))
		}
		return nil
	case "range":
		return checkRange(text, arguments)
	case "folder":
		return checkFolder(text)
	default:
		return fmt.Errorf("there is no check %q", check)
	}
}

func checkRequired(text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("must not be empty")
	}
	return nil
}

func checkHostPort(text string) error {
	host, port, err := net.SplitHostPort(text)
	if err != nil || host == "" || strings.Contains(host, "/") {
		return errors.New("give host:port, without a scheme")
	}
	if number, err := strconv.Atoi(port); err != nil || number < 1 || number > 65535 {
		return errors.New("give a port from 1 to 65535 behind the colon")
	}
	return nil
}

func checkHTTPURL(text string) error {
	address, err := url.Parse(text)
	switch {
	case err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https":
		return errors.New("give a URL like http://host:port")
	case address.User != nil:
		return errors.New("leave user name and password out of the URL")
	case address.RawQuery != "" || address.Fragment != "":
		return errors.New("leave query and fragment out of the URL")
	default:
		return nil
	}
}

func checkRange(text string, bounds []string) error {
	value, err := strconv.Atoi(text)
	low, lowErr := strconv.Atoi(bounds[0])
	high, highErr := strconv.Atoi(bounds[1])
	if err := errors.Join(lowErr, highErr); err != nil {
		return fmt.Errorf("bounds of the check: %w", err)
	}
	if err != nil || value < low || value > high {
		return fmt.Errorf("give a whole number from %d to %d", low, high)
	}
	return nil
}

func checkFolder(text string) error {
	info, err := os.Stat(text)
	switch {
	case err != nil:
		return errors.New("give a folder that exists")
	case !info.IsDir():
		return errors.New("give a folder, this is a file")
	default:
		return nil
	}
}
