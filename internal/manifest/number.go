package manifest

import (
	"cmp"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// sameDecimal compares the values of two JSON numbers, of any length.
func sameDecimal(a, b string) bool {
	negativeA, digitsA, exponentA := decimal(a)
	negativeB, digitsB, exponentB := decimal(b)
	if digitsA == "" || digitsB == "" {
		return digitsA == digitsB // zero has no sign
	}
	return negativeA == negativeB && digitsA == digitsB && exponentA == exponentB
}

// decimal takes a JSON number apart into 0.digits times ten to the exponent, without zeros around the digits.
func decimal(text string) (negative bool, digits string, exponent int) {
	text, negative = strings.CutPrefix(strings.ToLower(text), "-")
	mantissa, power, _ := strings.Cut(text, "e")
	exponent, _ = strconv.Atoi(power) // beyond an integer it is beyond every double, too
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits = whole + fraction
	significant := strings.TrimLeft(digits, "0")
	exponent += len(whole) - (len(digits) - len(significant))
	return negative, strings.TrimRight(significant, "0"), exponent
}

// storedNumber is what Maestro makes of a number.
func storedNumber(raw []byte) string {
	value, _ := strconv.ParseFloat(string(raw), 64)
	if size := math.Abs(value); size >= 1e-6 && size < 1e21 {
		return strconv.FormatFloat(value, 'f', -1, 64)
	}
	return strconv.FormatFloat(value, 'g', -1, 64)
}

// abbreviated gives a value for a message.
func abbreviated(raw []byte) string {
	if len(raw) <= 64 {
		return string(raw)
	}
	return string(raw[:60]) + "…"
}

// number is JSON's, with an exponent that is no joke.
var number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]{1,9})?$`)

func isNumber(text string) bool { return number.MatchString(text) }

// compareDecimals orders two numbers by their exact values, of any length; known is false for what is no number.
func compareDecimals(a, b string) (order int, known bool) {
	if !isNumber(a) || !isNumber(b) {
		return 0, false
	}
	negativeA, digitsA, exponentA := decimal(a)
	negativeB, digitsB, exponentB := decimal(b)
	switch {
	case digitsA == "" && digitsB == "":
		return 0, true
	case digitsA == "":
		return cmp.Compare(0, sign(negativeB)), true
	case digitsB == "":
		return sign(negativeA), true
	case negativeA != negativeB:
		return sign(negativeA), true
	}
	order = cmp.Compare(exponentA, exponentB)
	if order == 0 {
		order = strings.Compare(digitsA, digitsB)
	}
	return order * sign(negativeA), true
}

func sign(negative bool) int {
	if negative {
		return -1
	}
	return 1
}
