package results_test

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/results"
)

// unprivileged runs f on a thread of its own without root's rights on files; Linux keeps them per thread, and the thread
// ends with the goroutine because it stays locked.
func unprivileged(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if os.Getuid() == 0 {
			runtime.LockOSThread()
			_ = syscall.Setfsuid(65534)
		}
		f()
	}()
	<-done
}

func TestReadOnlyFolderIsRefusedAndTheOldFileStays(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "result.json")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o644))
	require.NoError(t, os.Chmod(folder, 0o555))
	t.Cleanup(func() { _ = os.Chmod(folder, 0o755) })
	var prepare, prepareNew, write error
	unprivileged(func() {
		prepare = results.Prepare(path)
		prepareNew = results.Prepare(filepath.Join(folder, "new.json"))
		write = results.Write(path, "", success(1))
	})
	for _, err := range []error{prepare, prepareNew, write} {
		require.ErrorIs(t, err, os.ErrPermission)
		assert.NotContains(t, err.Error(), "\n")
	}
	assert.Equal(t, []string{"result.json"}, names(t, folder))
}

func TestFullDiskIsAnErrorAndLeavesNoTemporaryFile(t *testing.T) {
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=128k"); err != nil {
		t.Skipf("mount a small file system: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(folder, 0) })
	path := filepath.Join(folder, "result.json")
	require.NoError(t, results.Prepare(path))
	require.NoError(t, results.Write(path, "", success(1)))
	before, err := os.ReadFile(path)
	require.NoError(t, err)

	err = results.Write(path, "", success(500))
	require.ErrorIs(t, err, syscall.ENOSPC)
	assert.EqualError(t, err, "write results file "+path+": no space left on device")
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, before, after)
	assert.Equal(t, []string{"result.json"}, names(t, folder))
}
