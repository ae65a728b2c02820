package devstack

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// ErrLocked says that another process holds a lock.
var ErrLocked = errors.New("locked by another process")

// TryLock takes the lock file for as long as this process lives or until the returned function is called. The
// kernel drops the lock of a process that dies, so there are no stale ones.
func TryLock(path string) (func(), error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, ErrLocked
		}
		return nil, err
	}
	return func() { f.Close() }, nil
}

// lockFile waits for the lock; waiting is called once when it is taken.
func lockFile(ctx context.Context, path string, waiting func()) (func(), error) {
	for first := true; ; first = false {
		unlock, err := TryLock(path)
		if !errors.Is(err, ErrLocked) {
			return unlock, err
		}
		if first {
			waiting()
		}
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// pause sleeps, unless the context ends first.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
