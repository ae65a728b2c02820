package maestro

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/manifest"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// Get reads one work of the configured source by its identity; [ErrNotFound] when Maestro does not have it. A work
// under deletion is returned with DeletedAt set.
func (c *Client) Get(ctx context.Context, consumer, name string) (*manifest.Stored, error) {
	return c.Read(ctx, c.config.Source, consumer, name)
}

// Read is [Client.Get] for a given source.
func (c *Client) Read(ctx context.Context, source, consumer, name string) (*manifest.Stored, error) {
	var stored *manifest.Stored
	err := c.call(ctx, func(ctx context.Context) error {
		id := UID(source, consumer, name)
		_, response, err := c.http.DefaultAPI.ApiMaestroV1ResourceBundlesIdGet(ctx, id).Execute()
		body, err := c.answer(response, err)
		if err != nil {
			return err
		}
		if stored, err = decodeBundle(body); err != nil {
			return contract.Errorf(contract.ErrUnavailable, "decode answer of %s: %w", c.where(), err)
		}
		return c.addressed(stored, id, consumer, name)
	})
	if err != nil {
		return nil, fmt.Errorf("read work %s on %s: %w", name, consumer, err)
	}
	return stored, nil
}

// addressed makes sure that the answer is the bundle that was asked for: what is decided on it is written back.
func (c *Client) addressed(stored *manifest.Stored, id, consumer, name string) error {
	if stored.ID != id || stored.Consumer != consumer || stored.Work.Name != name {
		return contract.Errorf(contract.ErrManifestRefused, "%s answered with bundle %s, work %s on %s, for bundle %s",
			c.where(), stored.ID, stored.Work.Name, stored.Consumer, id)
	}
	return nil
}

// Others finds bundles with this consumer and work name that another source wrote, by one filtered search. Bundles
// under deletion do not count.
func (c *Client) Others(ctx context.Context, source, consumer, name string) ([]*manifest.Stored, error) {
	var page struct {
		Items []json.RawMessage `json:"items"`
	}
	search := fmt.Sprintf("consumer_name='%s' and payload->'metadata'->>'name'='%s'", consumer, name)
	err := c.call(ctx, func(ctx context.Context) error {
		_, response, err := c.http.DefaultAPI.ApiMaestroV1ResourceBundlesGet(ctx).Search(search).OrderBy("id asc").Page(1).Size(20).Execute()
		body, err := c.answer(response, err)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(body, &page); err != nil {
			return contract.Errorf(contract.ErrUnavailable, "decode answer of %s: %w", c.where(), err)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("search works %s on %s: %w", name, consumer, err)
	}
	var others []*manifest.Stored
	for _, item := range page.Items {
		stored, err := decodeBundle(item)
		if err != nil {
			return nil, fmt.Errorf("search works %s on %s: %w", name, consumer, contract.Errorf(contract.ErrUnavailable, "decode: %w", err))
		}
		if stored.ID != UID(source, consumer, name) && stored.DeletedAt == nil {
			others = append(others, stored)
		}
	}
	return others, nil
}

// pageSize of lists; Maestro's client library takes no more.
const pageSize = 400

// Names of the works of a source on a consumer, by the bundles' IDs: those of the source alone whose bundle is the one that
// their name stands for. All pages are read.
func (c *Client) Names(ctx context.Context, source, consumer string) ([]string, error) {
	var names []string
	for page := int32(1); ; page++ {
		var list struct {
			Items []json.RawMessage `json:"items"`
		}
		err := c.call(ctx, func(ctx context.Context) error {
			search := fmt.Sprintf("source='%s' and consumer_name='%s'", source, consumer)
			_, response, err := c.http.DefaultAPI.ApiMaestroV1ResourceBundlesGet(ctx).Search(search).OrderBy("id asc").Page(page).Size(pageSize).Execute()
			body, err := c.answer(response, err)
			if err != nil {
				return err
			}
			if err := json.Unmarshal(body, &list); err != nil {
				return contract.Errorf(contract.ErrUnavailable, "decode answer of %s: %w", c.where(), err)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("list works on %s: %w", consumer, err)
		}
		for _, item := range list.Items {
			stored, err := decodeBundle(item)
			if err != nil {
				return nil, fmt.Errorf("list works on %s: %w", consumer, contract.Errorf(contract.ErrUnavailable, "decode: %w", err))
			}
			if stored.Consumer == consumer && stored.ID == UID(source, consumer, stored.Work.Name) {
				names = append(names, stored.Work.Name)
			}
		}
		if len(list.Items) < pageSize {
			return names, nil
		}
	}
}

// RefuseForeign is OwnershipConflict when there are [Client.Others]: a work created beside them would fight with theirs
// over the same objects.
func RefuseForeign(source, consumer, name string, others []*manifest.Stored) error {
	if len(others) == 0 {
		return nil
	}
	owner := ""
	if label := others[0].Work.Labels[contract.LabelOwner]; label != "" {
		owner = fmt.Sprintf(" (%s=%s)", contract.LabelOwner, label)
	}
	return contract.Errorf(contract.ErrOwnershipConflict, "work %s on %s was written by another source than %q: bundle %s%s",
		name, consumer, source, others[0].ID, owner)
}

// Registered is nil when Maestro knows the consumer, and ConsumerNotFound when it does not.
func (c *Client) Registered(ctx context.Context, consumer string) error {
	registered, err := c.consumers(ctx, consumer)
	if err != nil {
		return fmt.Errorf("look up consumer %s: %w", consumer, err)
	}
	if registered == 0 {
		return contract.Errorf(contract.ErrConsumerNotFound, "Maestro knows no consumer %q", consumer)
	}
	return nil
}

// consumers counts the consumers of a name ("" for all).
func (c *Client) consumers(ctx context.Context, name string) (int, error) {
	var page struct {
		Total int `json:"total"`
	}
	err := c.call(ctx, func(ctx context.Context) error {
		request := c.http.DefaultAPI.ApiMaestroV1ConsumersGet(ctx).Page(1).Size(1)
		if name != "" {
			request = request.Search(fmt.Sprintf("name='%s'", name))
		}
		_, response, err := request.Execute()
		body, err := c.answer(response, err)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(body, &page); err != nil {
			return contract.Errorf(contract.ErrUnavailable, "decode answer of %s: %w", c.where(), err)
		}
		return nil
	})
	return page.Total, err
}

// answer takes the bytes of a response. The generated client has already read them and puts them back; whether its
// own model could be decoded does not matter.
func (c *Client) answer(response *http.Response, callErr error) ([]byte, error) {
	if response == nil {
		return nil, unreachable(c.where(), callErr)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, unreachable(c.where(), err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, classifyHTTP(c.where(), response, body)
	}
	return body, nil
}
