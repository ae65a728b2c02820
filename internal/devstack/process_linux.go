package devstack

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// capDACOverride lets a process pass directories that file modes close to it (capability 1 of capabilities(7)).
const capDACOverride = 1

// sysProcAttr puts the child into a process group of its own, ties it to its owner's life, and runs it as the
// account.
func sysProcAttr(a *account, orphan syscall.Signal) *syscall.SysProcAttr {
	if orphan == 0 {
		orphan = syscall.SIGKILL
	}
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: orphan}
	if a != nil {
		attr.Credential = &syscall.Credential{Uid: a.uid, Gid: a.gid}
		if a.traverse {
			// In force from the exec on, so not yet when the child changes to its directory.
			attr.AmbientCaps = []uintptr{capDACOverride}
		}
	}
	return attr
}

// awaitExit blocks until the child has ended and leaves it to be reaped. False: it could not.
func awaitExit(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}
