package results_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/results"
	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

func names(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	found := []string{}
	for _, entry := range entries {
		found = append(found, entry.Name())
	}
	return found
}

// The reader opens the path as fast as it can, as the status-reporter does at its pace.
func TestReaderNeverSeesAnIncompleteDocument(t *testing.T) {
	path := filepath.Join(t.TempDir(), "result.json")
	stop, report := make(chan struct{}), make(chan error, 1)
	reads := 0
	go func() {
		for {
			select {
			case <-stop:
				report <- nil
				return
			default:
			}
			document, err := os.ReadFile(path)
			if errors.Is(err, os.ErrNotExist) {
				continue
			}
			if err == nil {
				_, err = acceptedByReporter(document)
			}
			if err != nil {
				report <- err
				return
			}
			reads++
		}
	}()
	outcomes := []contract.StatusResult{success(500), failure(contract.ErrWaitTimeout, "late"), failure(contract.ErrCancelled, "by ops"), success(0)}
	for i := range 200 {
		require.NoError(t, results.Prepare(path))
		require.NoError(t, results.Write(path, results.FormatStatusReporter, outcomes[i%len(outcomes)]))
	}
	close(stop)
	require.NoError(t, <-report)
	assert.Positive(t, reads)
	assert.Equal(t, []string{"result.json"}, names(t, filepath.Dir(path)))
}

func TestPrepareRemovesTheFileOfAnEarlierRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "result.json")
	require.NoError(t, os.WriteFile(path, []byte("stale"), 0o600))
	require.NoError(t, results.Prepare(path))
	assert.NoFileExists(t, path)
	require.NoError(t, results.Prepare(path), "and is fine with none")
	assert.Empty(t, names(t, filepath.Dir(path)))
}

func TestFileIsReadableByOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "result.json")
	require.NoError(t, results.Write(path, "", success(1)))
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o644), info.Mode().Perm())
}

func TestBadPathsAreClearOneLineErrors(t *testing.T) {
	folder := t.TempDir()
	loop := filepath.Join(folder, "loop")
	require.NoError(t, os.Symlink(loop, loop))
	for path, want := range map[string]string{
		"":                                       "the path is empty",
		folder:                                   "is a folder",
		filepath.Join(folder, "missing", "file"): "no such file or directory",
		os.DevNull:                               "no regular file",
		loop:                                     "symbolic links",
		filepath.Join(os.Args[0], "file"):        "not a directory",
	} {
		for _, err := range []error{results.Prepare(path), results.Write(path, "", success(1))} {
			require.ErrorContains(t, err, want, path)
			assert.NotContains(t, err.Error(), "\n")
			assert.NotContains(t, err.Error(), ".tmp", "temporary names mean nothing to a person")
			assert.Contains(t, err.Error(), path)
		}
	}
	assert.Equal(t, []string{"loop"}, names(t, folder))
}

func TestRefusedResultLeavesTheOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "result.json")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	require.Error(t, results.Write(path, "", contract.StatusResult{Reason: contract.ReasonRunning}))
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "old", string(kept))
}

func TestSymbolicLinkStaysAndItsTargetIsReplaced(t *testing.T) {
	for _, link := range []string{"relative", "absolute", "chain"} {
		t.Run(link, func(t *testing.T) {
			folder, volume := t.TempDir(), t.TempDir()
			path, target := filepath.Join(folder, "result.json"), filepath.Join(volume, "target.json")
			require.NoError(t, os.Symlink(volume, filepath.Join(folder, "volume")))
			switch link {
			case "relative":
				require.NoError(t, os.Symlink("volume/target.json", path))
			case "absolute":
				require.NoError(t, os.Symlink(target, path))
			case "chain":
				require.NoError(t, os.Symlink("second", path))
				require.NoError(t, os.Symlink("volume/target.json", filepath.Join(folder, "second")))
			}
			require.NoError(t, results.Prepare(path), "a link to nothing")
			require.NoError(t, results.Write(path, "", success(1)))
			for _, end := range []string{path, target} {
				document, err := os.ReadFile(end)
				require.NoError(t, err)
				_, err = acceptedByReporter(document)
				require.NoError(t, err)
			}
			info, err := os.Lstat(path)
			require.NoError(t, err)
			assert.NotZero(t, info.Mode()&os.ModeSymlink)
			require.NoError(t, results.Prepare(path))
			assert.NoFileExists(t, target, "a stale document is removed at both ends")
			assert.Empty(t, names(t, volume))
		})
	}
}

func TestLongestNameThatTheFolderTakes(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("n", 255))
	require.NoError(t, results.Prepare(path))
	require.NoError(t, results.Write(path, "", success(1)))
}
