package hyperfleet

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

const apiBase = "/api/hyperfleet/v1"

// identifier is what an ID may be: one segment of a path.
var identifier = regexp.MustCompile(`^[A-Za-z0-9][-A-Za-z0-9._~]*$`)

// parseBase checks the address of the API.
func parseBase(text string) (*url.URL, error) {
	base, err := url.Parse(text)
	switch {
	case err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https":
		return nil, contract.Errorf(contract.ErrInvalidInput, "hyperfleet-url: give a URL like https://host:port")
	case base.User != nil || base.RawQuery != "" || base.ForceQuery || base.Fragment != "":
		return nil, contract.Errorf(contract.ErrInvalidInput, "hyperfleet-url: leave user name, password, query and fragment out")
	}
	return base, nil
}

// path of a target's resource, below the base URL. An href is used as it is, so that it must not lead anywhere else.
func (c *Client) path(target contract.HyperFleetReport) (string, error) {
	refuse := func(why string) (string, error) {
		return "", contract.Errorf(contract.ErrHyperFleetRefused, "report target %q: %s", target.Resource(), why)
	}
	if target.Href == "" {
		if !identifier.MatchString(target.ID) {
			return refuse("give an href, or kind and id")
		}
		return apiBase + "/resources/" + target.ID, nil
	}
	href, err := url.Parse(target.Href)
	switch {
	case err != nil:
		return refuse("not a path")
	case href.Scheme != "" && href.Scheme != c.base.Scheme, href.Host != "" && href.Host != c.base.Host, href.User != nil, href.Opaque != "":
		return refuse("the API is at another host")
	case href.RawQuery != "" || href.ForceQuery || strings.Contains(target.Href, "#"):
		return refuse("leave query and fragment out")
	case href.RawPath != "" || !strings.HasPrefix(href.Path, "/api/"):
		return refuse("give a plain path like " + apiBase + "/clusters/<id>")
	}
	segments := strings.Split(strings.TrimSuffix(href.Path, "/"), "/")[1:]
	if slices.ContainsFunc(segments, func(segment string) bool { return !identifier.MatchString(segment) }) {
		return refuse("give a plain path like " + apiBase + "/clusters/<id>")
	}
	return "/" + strings.Join(segments, "/"), nil
}
