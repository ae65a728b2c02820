package hyperfleet

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// Answer says what became of a report.
type Answer struct {
	Outcome contract.ReportStatusOutcome
	// Generation of the stored report, or of the resource that has gone on.
	Generation int64
	// Last is the time of the adapter's stored report as far as it was seen, also beside an error: the next report's
	// time has to be later.
	Last time.Time
}

// storedStatus is what the API keeps of a report.
type storedStatus struct {
	Adapter            string      `json:"adapter"`
	ObservedGeneration int64       `json:"observed_generation"`
	LastReportTime     time.Time   `json:"last_report_time"`
	Conditions         []Condition `json:"conditions"`
}

// Report puts a body as the status of a target.
//
// Errors: HyperFleetUnavailable (another attempt may help), ReportDropped (another attempt with a time after
// Answer.Last), HyperFleetRefused (no attempt helps).
func (c *Client) Report(ctx context.Context, target contract.HyperFleetReport, body Body) (Answer, error) {
	path, err := c.path(target)
	if err != nil {
		return Answer{}, err
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		return Answer{}, contract.Errorf(contract.ErrInternal, "encode report: %w", err)
	}
	out := request{method: http.MethodPut, path: path + "/statuses", body: encoded}
	in, err := c.send(ctx, out)
	if err != nil {
		return Answer{}, err
	}
	switch in.status {
	case http.StatusCreated:
		return echoed(body, in)
	case http.StatusNoContent:
		return c.dropped(ctx, target, body)
	}
	if err := classify(out, in); !errors.Is(err, ErrGone) {
		return Answer{}, err
	}
	return Answer{Outcome: contract.ReportGone}, nil
}

// echoed looks whether the API kept what was sent: to another report with the time of a stored one it answers with the
// stored one.
func echoed(body Body, in answer) (Answer, error) {
	var kept storedStatus
	if err := json.Unmarshal(in.body, &kept); err != nil {
		return Answer{}, contract.Errorf(contract.ErrHyperFleetUnavailable, "HyperFleet answers 201, but without the report: check hyperfleet-url")
	}
	if kept.LastReportTime.Equal(body.time()) && kept.ObservedGeneration == body.ObservedGeneration && equal(kept.Conditions, body.Conditions) {
		return Answer{Outcome: contract.ReportStored, Generation: kept.ObservedGeneration, Last: kept.LastReportTime}, nil
	}
	return Answer{Last: kept.LastReportTime}, contract.Errorf(contract.ErrReportDropped, "HyperFleet kept another report of %s", kept.LastReportTime.Format(timeFormat))
}

// dropped finds out why a report was answered with 204.
func (c *Client) dropped(ctx context.Context, target contract.HyperFleetReport, body Body) (Answer, error) {
	head, err := c.Resource(ctx, target)
	switch {
	case errors.Is(err, ErrGone):
		return Answer{Outcome: contract.ReportGone}, nil
	case err != nil:
		return Answer{}, err
	case head.Generation > body.ObservedGeneration:
		return Answer{Outcome: contract.ReportSuperseded, Generation: head.Generation}, nil
	case head.Generation < body.ObservedGeneration:
		return Answer{}, contract.Errorf(contract.ErrHyperFleetRefused,
			"%s is at generation %d, the report is for %d: correct the request's generation", target.Resource(), head.Generation, body.ObservedGeneration)
	}
	kept, err := c.status(ctx, target, body.Adapter)
	if err != nil && !errors.Is(err, ErrGone) {
		return Answer{}, err
	}
	return Answer{Last: kept.LastReportTime}, contract.Errorf(contract.ErrReportDropped,
		"HyperFleet dropped the report of %s: it has a later one, of %s", body.ObservedTime, kept.LastReportTime.Format(timeFormat))
}

const pageSize = 100

// status of one adapter; the zero status when it has none.
func (c *Client) status(ctx context.Context, target contract.HyperFleetReport, adapter string) (storedStatus, error) {
	path, err := c.path(target)
	if err != nil {
		return storedStatus{}, err
	}
	var found storedStatus
	err = pages(ctx, c, path+"/statuses", nil, func(status storedStatus) {
		if status.Adapter == adapter {
			found = status
		}
	})
	return found, err
}

// Nodepools names the node pools of a cluster, those that are being deleted included.
func (c *Client) Nodepools(ctx context.Context, cluster string) ([]string, error) {
	if !identifier.MatchString(cluster) {
		return nil, contract.Errorf(contract.ErrHyperFleetRefused, "cluster %q: not an ID", cluster)
	}
	var names []string
	err := pages(ctx, c, apiBase+"/nodepools", url.Values{"search": {"owner_id = '" + cluster + "'"}}, func(pool struct {
		Name string `json:"name"`
	}) {
		names = append(names, pool.Name)
	})
	return names, err
}

// pages reads a whole list. Rows that come or go meanwhile may be missed: the caller asks again.
func pages[T any](ctx context.Context, c *Client, path string, query url.Values, each func(T)) error {
	query = maps.Clone(query)
	if query == nil {
		query = url.Values{}
	}
	query.Set("size", strconv.Itoa(pageSize))
	for page, seen := 1, 0; ; page++ {
		query.Set("page", strconv.Itoa(page))
		var list struct {
			Items []T  `json:"items"`
			Total *int `json:"total"`
		}
		if err := c.get(ctx, path, query, &list); err != nil {
			return err
		}
		if list.Total == nil {
			return contract.Errorf(contract.ErrHyperFleetUnavailable, "GET %s answers with no list: check hyperfleet-url", path)
		}
		for _, item := range list.Items {
			each(item)
		}
		seen += len(list.Items)
		switch {
		case seen >= *list.Total:
			return nil
		case len(list.Items) == 0:
			return contract.Errorf(contract.ErrHyperFleetUnavailable, "GET %s has %d of %d rows: the list changed while it was read", path, seen, *list.Total)
		}
	}
}

func (b Body) time() time.Time {
	// It was written in this format by StatusBody.
	at, _ := time.Parse(timeFormat, b.ObservedTime)
	return at
}

func equal(kept, sent []Condition) bool {
	if len(kept) != len(sent) {
		return false
	}
	by := map[string]Condition{}
	for _, condition := range kept {
		by[condition.Type] = condition
	}
	for _, condition := range sent {
		if by[condition.Type] != condition {
			return false
		}
	}
	return true
}
