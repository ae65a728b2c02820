package fakemaestro

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/openshift-online/maestro/pkg/api/openapi"
)

// maxListSize is what a larger or negative size is taken for.
const maxListSize = 65500

// listArgs are the query parameters of a list.
type listArgs struct {
	page    int
	size    int64
	search  string
	orderBy []string
}

// parseListArgs has no errors: a page or size that is not a number is 0, which means the first page and an empty one.
func parseListArgs(query url.Values) listArgs {
	args := listArgs{page: 1, size: 100, search: strings.Trim(query.Get("search"), " ")}
	if v := strings.Trim(query.Get("page"), " "); v != "" {
		args.page, _ = strconv.Atoi(v)
	}
	if v := strings.Trim(query.Get("size"), " "); v != "" {
		args.size, _ = strconv.ParseInt(v, 10, 0)
	}
	if args.size > maxListSize || args.size < 0 {
		args.size = maxListSize
	}
	if v := strings.Trim(query.Get("orderBy"), " "); v != "" {
		args.orderBy = strings.Split(v, ",")
	}
	return args
}

// listing is one table with what a list needs to know about its rows.
type listing[R any] struct {
	kind, table, model string
	columns            func(R) columns
	present            func(R) ([]byte, error)
}

func (s *Server) listBundles(query url.Values) ([]byte, *serviceError) {
	l := listing[*row]{"ResourceBundleList", "resources", "Resource", (*row).columns, s.presentInList}
	return l.list(s.store.all(), query)
}

func (s *Server) listConsumers(query url.Values) ([]byte, *serviceError) {
	l := listing[*consumer]{"ConsumerList", "consumers", "Consumer", (*consumer).columns, (*consumer).present}
	return l.list(s.store.allConsumers(), query)
}

// presentInList prefers the body that a script serves at the moment.
func (s *Server) presentInList(r *row) ([]byte, error) {
	if code, body, scripted := s.store.readScript(r.id); scripted && code == http.StatusOK {
		return body, nil
	}
	return r.present()
}

func (l listing[R]) list(rows []R, query url.Values) ([]byte, *serviceError) {
	args := parseListArgs(query)
	less, failure := l.order(args.orderBy)
	if failure != nil {
		return nil, failure
	}
	matching, failure := l.search(rows, args.search)
	if failure != nil {
		return nil, failure
	}
	sort.SliceStable(matching, func(i, j int) bool { return less(matching[i], matching[j]) })
	items, failure := l.items(window(matching, args))
	if failure != nil {
		return nil, failure
	}
	if query.Get("fields") != "" {
		panic(http.ErrAbortHandler) // the real server's handler panics and the connection drops
	}
	var body bytes.Buffer
	fmt.Fprintf(&body, `{"items":[%s],"kind":%q,"page":%d,"size":%d,"total":%d}`,
		bytes.Join(items, []byte(",")), l.kind, args.page, len(items), len(matching))
	return body.Bytes(), nil
}

func window[R any](rows []R, args listArgs) []R {
	start := max(0, (args.page-1)*int(args.size))
	if start >= len(rows) || args.size == 0 {
		return nil
	}
	return rows[start:min(len(rows), start+int(args.size))]
}

func (l listing[R]) search(rows []R, text string) ([]R, *serviceError) {
	if text == "" {
		return rows, nil
	}
	var none R
	matches, failure := parseSearch(text, table{l.table, l.model, l.columns(none)})
	if failure != nil {
		return nil, failure
	}
	found := []R{}
	for _, r := range rows {
		if matches(l.columns(r)) == yes {
			found = append(found, r)
		}
	}
	return found, nil
}

func (l listing[R]) items(rows []R) ([][]byte, *serviceError) {
	items := make([][]byte, 0, len(rows))
	for _, r := range rows {
		item, err := l.present(r)
		if err != nil {
			return nil, failf(codeGeneral, "%s", err)
		}
		items = append(items, item)
	}
	return items, nil
}

// order turns "a desc,b" into a comparison; without orderBy the rows stay as they lie in the table.
func (l listing[R]) order(orderBy []string) (func(a, b R) bool, *serviceError) {
	type key struct {
		column string
		desc   bool
	}
	var keys []key
	var none R
	for _, arg := range orderBy {
		words := strings.Split(strings.Trim(arg, " "), " ")
		direction := "asc"
		if len(words) == 2 {
			direction = words[1]
		}
		if len(words) > 2 || (direction != "asc" && direction != "desc") {
			return nil, failf(codeBadRequest, "bad order value '%s'", arg)
		}
		if words[0] == "" {
			return nil, failf(codeGeneral, `Unable to list resources: ERROR: syntax error at or near "asc" (SQLSTATE 42601)`)
		}
		column := strings.ToLower(words[0])
		if _, ok := l.columns(none)(column); !ok {
			return nil, failf(codeGeneral, "Unable to list resources: %s", missingColumn("", column, true))
		}
		keys = append(keys, key{column, direction == "desc"})
	}
	return func(a, b R) bool {
		for _, k := range keys {
			left, _ := l.columns(a)(k.column)
			right, _ := l.columns(b)(k.column)
			if order := compareValues(left, right); order != 0 {
				return (order < 0) != k.desc
			}
		}
		return false
	}, nil
}

// compareValues sorts NULL behind everything, as the database does.
func compareValues(a, b any) int {
	switch left := a.(type) {
	case nil:
		if b == nil {
			return 0
		}
		return 1
	case int32:
		if right, ok := b.(int32); ok {
			return sign(float64(left) - float64(right))
		}
	case time.Time:
		if right, ok := b.(time.Time); ok {
			return left.Compare(right)
		}
	}
	if b == nil {
		return -1
	}
	return strings.Compare(asText(a), asText(b))
}

// columns of a nil row know only which columns exist.
func (r *row) columns() columns {
	if r == nil {
		r = &row{}
	}
	return func(name string) (any, bool) {
		switch strings.TrimPrefix(name, "resources.") {
		case "id":
			return r.id, true
		case "name":
			return r.name, true
		case "source":
			return r.searchedSource(), true
		case "consumer_name":
			return r.consumer, true
		case "version":
			return r.version, true
		case "type":
			return "", true
		case "created_at":
			return r.createdAt, true
		case "updated_at":
			return r.updatedAt, true
		case "deleted_at":
			return deletedAtOrNull(r.deletedAt), true
		case "payload":
			return map[string]any(r.payload), true
		case "status":
			return map[string]any(r.status), true
		default:
			return nil, false
		}
	}
}

func deletedAtOrNull(at time.Time) any {
	if at.IsZero() {
		return nil
	}
	return at
}

func (c *consumer) columns() columns {
	if c == nil {
		c = &consumer{}
	}
	return func(name string) (any, bool) {
		switch strings.TrimPrefix(name, "consumers.") {
		case "id":
			return c.id, true
		case "name":
			return c.name, true
		case "labels":
			labels := map[string]any{}
			for key, value := range c.labels {
				labels[key] = value
			}
			return labels, true
		case "created_at":
			return c.createdAt, true
		case "updated_at":
			return c.updatedAt, true
		case "deleted_at":
			return nil, true
		default:
			return nil, false
		}
	}
}

func (c *consumer) present() ([]byte, error) {
	out := openapi.Consumer{
		Id:        openapi.PtrString(c.id),
		Kind:      openapi.PtrString("Consumer"),
		Href:      openapi.PtrString(basePath + "/consumers/" + c.id),
		Name:      openapi.PtrString(c.name),
		CreatedAt: openapi.PtrTime(c.createdAt),
		UpdatedAt: openapi.PtrTime(c.updatedAt),
	}
	if c.labels != nil {
		labels := c.labels
		out.Labels = &labels
	}
	return json.Marshal(out)
}
