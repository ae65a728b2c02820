package hyperfleet

import (
	"io"
	"os"
	"strings"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// maxToken bytes of a token file.
const maxToken = 64 * 1024

// token reads the token file; "" when none is configured. It is read for each request, so that a token that was
// replaced is used from the next one on. A file that is missing may be on its way: the error is retryable.
func (c *Client) token() (string, error) {
	if c.config.TokenFile == "" {
		return "", nil
	}
	file, err := os.Open(c.config.TokenFile)
	if err != nil {
		return "", contract.Errorf(contract.ErrHyperFleetUnavailable, "read token file: %w", err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxToken+1))
	if err != nil {
		return "", contract.Errorf(contract.ErrHyperFleetUnavailable, "read token file: %w", err)
	}
	token := strings.TrimSpace(string(content))
	odd := func(r rune) bool { return r <= ' ' || r > '~' }
	if token == "" || len(content) > maxToken || strings.ContainsFunc(token, odd) {
		return "", contract.Errorf(contract.ErrHyperFleetUnavailable, "read token file %s: it does not hold one token", c.config.TokenFile)
	}
	return token, nil
}
