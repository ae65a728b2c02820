package results

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/openshift-hyperfleet/maestro-workflows/workflows/contract"
)

// fileMode lets a container that runs as another user read the file.
const fileMode = 0o644

// maxLinks is where a chain of symbolic links counts as a loop, as in the kernel.
const maxLinks = 40

// Prepare makes the path ready for the outcome that is to come: it removes a file that an earlier run left, which a
// reader would take for this run's outcome, and proves that the folder takes new files. The error is one line.
func Prepare(path string) error {
	target, err := resolve(path)
	if err != nil {
		return fmt.Errorf("prepare results file %s: %w", path, err)
	}
	if err := os.Remove(target); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("prepare results file %s: remove the one of an earlier run: %w", path, reason(err))
	}
	probe, err := os.CreateTemp(filepath.Dir(target), pattern(target))
	if err != nil {
		return fmt.Errorf("prepare results file %s: folder %s takes no new file: %w", path, filepath.Dir(target), reason(err))
	}
	err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	if err != nil {
		return fmt.Errorf("prepare results file %s: remove the probe of the folder: %w", path, reason(err))
	}
	return nil
}

// Write puts the result at the path in the given format, replacing what is there. Only a final result is accepted: the
// first document that the status-reporter sees is its last word. The error is one line.
func Write(path string, format Format, result contract.StatusResult) error {
	document, err := Encode(format, result)
	if err != nil {
		return fmt.Errorf("write results file %s: %w", path, err)
	}
	target, err := resolve(path)
	if err != nil {
		return fmt.Errorf("write results file %s: %w", path, err)
	}
	if err := replace(target, document, fileMode); err != nil {
		return fmt.Errorf("write results file %s: %w", path, reason(err))
	}
	return nil
}

// WriteDocument puts any document in the place of a file, as a whole or not at all.
func WriteDocument(path string, document []byte, mode os.FileMode) error {
	target, err := resolve(path)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := replace(target, document, mode); err != nil {
		return fmt.Errorf("write %s: %w", path, reason(err))
	}
	return nil
}

// resolve follows symbolic links of the last element (the kernel follows those of the folders), and refuses what is no
// regular file. The result may not exist.
func resolve(path string) (string, error) {
	if path == "" {
		return "", errors.New("the path is empty")
	}
	target := path
	for range maxLinks {
		info, err := os.Lstat(target)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return target, nil
		case err != nil:
			return "", reason(err)
		case info.IsDir():
			return "", fmt.Errorf("%s is a folder, give the path of a file", target)
		case info.Mode().IsRegular():
			return target, nil
		case info.Mode()&os.ModeSymlink == 0:
			return "", fmt.Errorf("%s is no regular file (%s)", target, info.Mode().Type())
		}
		next, err := os.Readlink(target)
		if err != nil {
			return "", reason(err)
		}
		if !filepath.IsAbs(next) {
			// Not filepath.Join: it would drop "link/.." before the kernel can follow the link.
			next = filepath.Dir(target) + string(filepath.Separator) + next
		}
		target = next
	}
	return "", errors.New("too many levels of symbolic links")
}

// pattern names temporary files: hidden, and short enough whatever the length of the target's name.
func pattern(target string) string { return "." + cut(filepath.Base(target), 100) + ".*.tmp" }

// replace writes the document beside the target and renames it: the order content, fsync, rename, fsync of the folder is
// what makes the document complete for a reader and present after a crash.
func replace(target string, document []byte, mode os.FileMode) (err error) {
	folder := filepath.Dir(target)
	temporary, err := os.CreateTemp(folder, pattern(target))
	if err != nil {
		return err
	}
	renamed := false
	defer func() {
		if renamed {
			return
		}
		temporary.Close()
		if removeErr := os.Remove(temporary.Name()); removeErr != nil {
			err = errors.Join(err, removeErr)
		}
	}()
	if _, err := temporary.Write(document); err != nil {
		return err
	}
	// Chmod, not the mode at creation: the umask must not take the reader's right away.
	if err := temporary.Chmod(mode); err != nil {
		return err
	}
	if err := temporary.Sync(); err != nil {
		return err
	}
	if err := temporary.Close(); err != nil {
		return err
	}
	if err := os.Rename(temporary.Name(), target); err != nil {
		return err
	}
	renamed = true
	return syncFolder(folder)
}

func syncFolder(folder string) error {
	directory, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer directory.Close()
	err = directory.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil // some network and FUSE file systems cannot; the document itself is written
	}
	return err
}

// reason drops the name of a temporary file, which means nothing to a person, and keeps errors.Is working.
func reason(err error) error {
	var pathErr *os.PathError
	var linkErr *os.LinkError
	switch {
	case errors.As(err, &pathErr):
		return pathErr.Err
	case errors.As(err, &linkErr):
		return linkErr.Err
	default:
		return err
	}
}
