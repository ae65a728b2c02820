package fakemaestro

import (
	"fmt"
	"io"
	"log"
	"strconv"
	"sync"
	"time"

	ce "github.com/cloudevents/sdk-go/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/common"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/clients/utils"
	workpayload "open-cluster-management.io/sdk-go/pkg/cloudevents/clients/work/payload"
	"open-cluster-management.io/sdk-go/pkg/cloudevents/generic/types"
)

// silent swallows what the HTTP server says about connections that faults have cut.
var silent = log.New(io.Discard, "", 0)

// UID is the id under which the OCM source client stores a ManifestWork.
func UID(source, consumer, name string) string {
	return utils.UID(source, common.ManifestWorkGR.String(), consumer, name)
}

// AddConsumer creates a consumer and returns its id.
func (s *Server) AddConsumer(name string) (string, error) {
	created, failure := s.store.createConsumer(name, nil)
	if failure != nil {
		return "", fmt.Errorf("add consumer %s: %w", name, failure)
	}
	return created.id, nil
}

// Bundle is a stored resource bundle.
type Bundle struct {
	ID, Name, Source, Consumer string
	Version                    int32
	CreatedAt, UpdatedAt       time.Time
	DeletedAt                  time.Time // zero unless marked as deleted
	Position                   int64     // grows with every change of any row
	ObservedVersion            int32     // of the stored status; 0 without one
	Work                       *workv1.ManifestWork
	JSON                       []byte // as the HTTP API shows it
}

// Bundle returns one bundle as it is stored, with the executor, which the HTTP API does not show.
func (s *Server) Bundle(id string) (Bundle, bool) {
	found, failure := s.store.get(id)
	if failure != nil {
		return Bundle{}, false
	}
	return found.bundle(), true
}

// Bundles returns all bundles in table order.
func (s *Server) Bundles() []Bundle {
	bundles := []Bundle{}
	for _, r := range s.store.all() {
		bundles = append(bundles, r.bundle())
	}
	return bundles
}

// bundle leaves out what a raw body does not allow to be read.
func (r *row) bundle() Bundle {
	b := Bundle{
		ID: r.id, Name: r.name, Source: r.source, Consumer: r.consumer, Version: r.version,
		CreatedAt: r.createdAt, UpdatedAt: r.updatedAt, DeletedAt: r.deletedAt, Position: r.position,
	}
	b.JSON, _ = r.present()
	b.Work = r.work()
	if number, ok := r.status[types.ExtensionResourceVersion]; ok {
		version, _ := strconv.ParseInt(asText(number), 10, 32)
		b.ObservedVersion = int32(version)
	}
	return b
}

func (r *row) work() *workv1.ManifestWork {
	work := &workv1.ManifestWork{}
	evt, err := r.withTimestamps().event()
	if err != nil {
		return nil
	}
	spec := workpayload.ManifestBundle{}
	if err := evt.DataAs(&spec); err != nil {
		return nil
	}
	work.Spec = workv1.ManifestWorkSpec{
		Workload:        workv1.ManifestsTemplate{Manifests: spec.Manifests},
		DeleteOption:    spec.DeleteOption,
		ManifestConfigs: spec.ManifestConfigs,
		Executor:        spec.Executer,
	}
	if meta, ok := r.withTimestamps()[types.ExtensionWorkMeta].(map[string]any); ok {
		_ = decodeInto(meta, &work.ObjectMeta) // metadata that no client could read either
	}
	work.Generation = int64(r.version)
	if evt, err := r.status.event(); err == nil {
		status := workpayload.ManifestBundleStatus{}
		if err := evt.DataAs(&status); err == nil {
			work.Status.Conditions = status.Conditions
			work.Status.ResourceStatus.Manifests = status.ResourceStatus
		}
	}
	return work
}

// Status is what an agent reports about a bundle.
type Status struct {
	ObservedVersion int32  // 0: the stored version
	SequenceID      string // "": newer than every one before
	Conditions      []metav1.Condition
	Manifests       []workv1.ManifestCondition
}

// SetStatus stores a status without asking whether it is newer or belongs to the stored version, and tells the
// subscribers.
func (s *Server) SetStatus(id string, status Status) error {
	found, failure := s.store.get(id)
	if failure != nil {
		return fmt.Errorf("set status: %w", failure)
	}
	evt, err := s.statusReport(found, status)
	if err != nil {
		return fmt.Errorf("set status of %s: %w", id, err)
	}
	content, err := found.statusWithOwnMetadata(evt)
	if err != nil {
		return fmt.Errorf("set status of %s: %w", id, err)
	}
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	current := s.store.find(id)
	if current == nil {
		return fmt.Errorf("set status: %w", notFound("Resource", id))
	}
	if failure := s.store.storeStatus(current, content); failure != nil {
		return fmt.Errorf("set status of %s: %w", id, failure)
	}
	return nil
}

// ReportStatus hands in a status as an agent does, with all rules of the server: one for another version than the
// stored one, or with an older sequence id, is dropped, and Deleted=True removes the bundle. The result says whether
// anything changed.
func (s *Server) ReportStatus(id string, status Status) (bool, error) {
	found, failure := s.store.get(id)
	if failure != nil {
		return false, fmt.Errorf("report status: %w", failure)
	}
	evt, err := s.statusReport(found, status)
	if err != nil {
		return false, fmt.Errorf("report status of %s: %w", id, err)
	}
	return s.store.handleStatus(evt)
}

// ConfirmDelete plays the agent that has removed the objects of a deleted bundle: the subscribers get a last status
// with Deleted=True, and the row is gone.
func (s *Server) ConfirmDelete(id string) error {
	found, failure := s.store.get(id)
	if failure != nil {
		return fmt.Errorf("confirm delete: %w", failure)
	}
	if !found.deleting() {
		return fmt.Errorf("confirm delete of %s: the bundle is not under deletion", id)
	}
	status := Status{Conditions: []metav1.Condition{{
		Type:               common.ResourceDeleted,
		Status:             metav1.ConditionTrue,
		Reason:             "ManifestsDeleted",
		Message:            "The manifests are deleted from the cluster " + found.consumer,
		LastTransitionTime: metav1.NewTime(s.store.now()),
	}}}
	if work := found.work(); work != nil {
		status.Conditions = append(work.Status.Conditions, status.Conditions...)
		status.Manifests = work.Status.ResourceStatus.Manifests
	}
	_, err := s.ReportStatus(id, status)
	return err
}

// Vanish removes a bundle without a word to anybody, as if it had been deleted while nobody listened. It reports
// whether there was one.
func (s *Server) Vanish(id string) bool {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	_, existed := s.store.rows[id]
	delete(s.store.rows, id)
	delete(s.store.scripts, id)
	return existed
}

// Notify sends the stored status of a bundle to the subscribers again.
func (s *Server) Notify(id string) { s.store.notify.statusChanged(id) }

func (s *Server) statusReport(r *row, status Status) (*ce.Event, error) {
	if status.ObservedVersion == 0 {
		status.ObservedVersion = r.version
	}
	if status.SequenceID == "" {
		status.SequenceID = s.sequences.next()
	}
	eventType := types.CloudEventsType{
		CloudEventsDataType: workpayload.ManifestBundleEventDataType,
		SubResource:         types.SubResourceStatus,
		Action:              types.UpdateRequestAction,
	}
	evt := types.NewEventBuilder(r.consumer+"-work-agent", eventType).
		WithResourceID(r.id).
		WithStatusUpdateSequenceID(status.SequenceID).
		WithResourceVersion(int64(status.ObservedVersion)).
		WithClusterName(r.consumer).
		WithOriginalSource(originalSource).
		NewEvent()
	if status.Conditions == nil {
		status.Conditions = []metav1.Condition{}
	}
	err := evt.SetData(ce.ApplicationJSON, &workpayload.ManifestBundleStatus{
		Conditions:     status.Conditions,
		ResourceStatus: status.Manifests,
	})
	return &evt, err
}

// sequences makes ids in the form of the agents' snowflakes: milliseconds, node 1, step.
type sequences struct {
	mu   sync.Mutex
	last int64
	step int64
}

const (
	snowflakeEpoch = 1288834974657 // of the agents' generator, in milliseconds
	maxStep        = 1<<12 - 1     // per millisecond; 10 bits of node lie above
)

func (q *sequences) next() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now().UnixMilli() - snowflakeEpoch
	switch {
	case now > q.last:
		q.last, q.step = now, 0
	case q.step == maxStep:
		q.last, q.step = q.last+1, 0
	default:
		q.step++
	}
	return strconv.FormatInt(q.last<<22|1<<12|q.step, 10)
}
