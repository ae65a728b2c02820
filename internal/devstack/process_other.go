//go:build unix && !linux

package devstack

import "syscall"

// sysProcAttr puts the child into a process group of its own and runs it as the account. Other systems than
// Linux cannot tie a child to its owner's life.
func sysProcAttr(a *account, _ syscall.Signal) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if a != nil {
		attr.Credential = &syscall.Credential{Uid: a.uid, Gid: a.gid}
	}
	return attr
}

// awaitExit cannot wait without reaping here, so a process group is not cleaned up after its leader.
func awaitExit(int) bool { return false }
