package devstack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
)

// account is the user that PostgreSQL and PgBouncer run as when the stack runs as root: both refuse to.
type account struct {
	name     string
	uid, gid uint32
	// traverse says that a directory on the way to the data is closed to the account (a temporary directory of
	// a test, say), so that the process needs the right to pass it.
	traverse bool
}

// serverAccount returns nil when the current user is fine.
func serverAccount(dir string) (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("read the user id of %s: %w", name, err)
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("read the group id of %s: %w", name, err)
		}
		return &account{name: name, uid: uint32(uid), gid: uint32(gid), traverse: !open(dir)}, nil
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is neither a user postgres nor nobody to run it as")
}

// open reports whether everybody may pass every directory on the way to dir.
func open(dir string) bool {
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return true
		}
		dir = parent
	}
}

// ownedDir makes a directory that belongs to the account, with everything in it. A nil account is the current
// user.
func ownedDir(dir string, a *account) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if a == nil {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(a.uid), int(a.gid))
	})
}
