package operator

import "syscall"

// dieWithParent ends a manager whose parent was killed without a chance to end it itself.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGTERM }
