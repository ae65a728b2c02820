package activities

import (
	"context"
	"path/filepath"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/results"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// Reporter delivers outcomes.
type Reporter struct {
	// Dir is the worker's results directory; empty when the worker writes no results files.
	Dir string
}

// Report writes the results file that a request asked the worker for. It replaces the file as a whole by one with the
// same content, so that running it twice is harmless. The name cannot lead out of the results directory, unless somebody put a symbolic link into that.
func (r *Reporter) Report(_ context.Context, params contract.ReportParams) (contract.ReportResult, error) {
	name := params.Report.ResultsFile
	switch {
	case name == "":
		return contract.ReportResult{}, nil
	case r.Dir == "":
		return contract.ReportResult{}, application(contract.Errorf(contract.ErrReportFailed, "results file %s: this worker has no results directory", name))
	case !filepath.IsLocal(name):
		return contract.ReportResult{}, application(contract.Errorf(contract.ErrReportFailed, "results file %s: give a name inside the results directory", name))
	}
	if err := results.Write(filepath.Join(r.Dir, name), results.FormatStatusReporter, params.Result); err != nil {
		return contract.ReportResult{}, application(contract.Errorf(contract.ErrReportFailed, "%w", err))
	}
	return contract.ReportResult{File: name}, nil
}
