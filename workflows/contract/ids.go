package contract

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
)

const (
	operationPrefix = "op"
	waitPrefix      = "wait"
)

// dnsLabel is RFC 1123's label, which Maestro demands of consumers and of the names of works.
var dnsLabel = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// sourceName keeps a source usable as a part of an ID, of a search expression and of a URL.
var sourceName = regexp.MustCompile(`^[A-Za-z0-9]([-._A-Za-z0-9]{0,61}[A-Za-z0-9])?$`)

// labelValue is what Kubernetes takes for the value of a label.
var labelValue = regexp.MustCompile(`^[A-Za-z0-9]([-._A-Za-z0-9]{0,61}[A-Za-z0-9])?$`)

// waitDigest is what [WaitID] ends with.
var waitDigest = regexp.MustCompile(`^[0-9a-f]{12}$`)

// OperationID is the workflow ID of every write of one whole work: op/<source>/<consumer>/<work>. At most one operation
// runs per ID, so an apply and a delete of the same work exclude each other. A merge of a part has /<part> behind it.
func OperationID(source, consumer, work string) string {
	return strings.Join([]string{operationPrefix, source, consumer, work}, "/")
}

// WaitID is the workflow ID of a wait that writes nothing: wait/<source>/<consumer>/<work>/<digest>, the digest being
// that of the condition and of the timeout. Different waits on one work run beside each other and beside a write; equal
// ones are one.
func WaitID(source, consumer, work, wait, timeout string) string {
	sum := sha256.Sum256([]byte(wait + "\x00" + timeout))
	return strings.Join([]string{waitPrefix, source, consumer, work, hex.EncodeToString(sum[:6])}, "/")
}

// ParsedID is what an operation's workflow ID says. Part is "" for a whole work; see [Request.Part].
type ParsedID struct {
	Source, Consumer, Work, Part string
	WaitOnly                     bool
}

// ParseOperationID takes apart what [Request.WorkflowID] built. Any other ID is an error.
func ParseOperationID(id string) (ParsedID, error) {
	parts := strings.Split(id, "/")
	refused := fmt.Errorf("parse workflow ID %q: want op/<source>/<consumer>/<work>[/<part>] or wait/<source>/<consumer>/<work>/<digest>", id)
	wait := parts[0] == waitPrefix
	if parts[0] != operationPrefix && !wait || len(parts) < 4 || len(parts) > 5 || wait && len(parts) != 5 ||
		!sourceName.MatchString(parts[1]) || !dnsLabel.MatchString(parts[2]) || !dnsLabel.MatchString(parts[3]) {
		return ParsedID{}, refused
	}
	parsed := ParsedID{Source: parts[1], Consumer: parts[2], Work: parts[3], WaitOnly: wait}
	switch {
	case wait && !waitDigest.MatchString(parts[4]):
		return ParsedID{}, refused
	case !wait && len(parts) == 5:
		if parsed.Part = parts[4]; !part.MatchString(parsed.Part) {
			return ParsedID{}, refused
		}
	}
	return parsed, nil
}
