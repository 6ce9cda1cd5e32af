// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"slices"

	"golang.org/x/sys/unix"
)

const (
	setIDs     = unix.S_ISUID | unix.S_ISGID
	creates    = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
	namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWIPC | unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	// tiocLinux is TIOCLINUX, which package unix does not have.
	tiocLinux = 0x541c
	// unchanged is -1, which keeps an id in calls that set several.
	unchanged = ^uint32(0)
	// unknown is the first call that did not exist when this table was written. Later calls are
	// refused with ENOSYS, which programs take for an older kernel.
	unknown = 472
)

// always are calls that neither tofu nor providers need. They reach objects of others, or parts of
// the kernel in which vulnerabilities are found often.
var always = []rule{
	// Keyrings of the user, which no file mode and no namespace protects.
	{name: "add_key", number: unix.SYS_ADD_KEY, errno: unix.EPERM},
	{name: "request_key", number: unix.SYS_REQUEST_KEY, errno: unix.EPERM},
	{name: "keyctl", number: unix.SYS_KEYCTL, errno: unix.EPERM},

	// Other processes.
	{name: "ptrace", number: unix.SYS_PTRACE, errno: unix.EPERM},
	{name: "process_vm_readv", number: unix.SYS_PROCESS_VM_READV, errno: unix.EPERM},
	{name: "process_vm_writev", number: unix.SYS_PROCESS_VM_WRITEV, errno: unix.EPERM},
	{name: "process_madvise", number: unix.SYS_PROCESS_MADVISE, errno: unix.EPERM},
	{name: "process_mrelease", number: unix.SYS_PROCESS_MRELEASE, errno: unix.EPERM},
	{name: "pidfd_getfd", number: unix.SYS_PIDFD_GETFD, errno: unix.EPERM},
	{name: "kcmp", number: unix.SYS_KCMP, errno: unix.EPERM},
	{name: "migrate_pages", number: unix.SYS_MIGRATE_PAGES, errno: unix.EPERM},
	{name: "move_pages of another process", number: unix.SYS_MOVE_PAGES, errno: unix.EPERM, tests: []test{isNot(0, 0)}},

	// The mark by which a run's processes are found.
	{name: "setrlimit of the mark", number: unix.SYS_SETRLIMIT, errno: unix.EPERM, tests: []test{is(0, markedBy)}},
	{name: "prlimit64 of the mark", number: unix.SYS_PRLIMIT64, errno: unix.EPERM, tests: []test{is(1, markedBy)}},

	// The file tree.
	{name: "mount", number: unix.SYS_MOUNT, errno: unix.EPERM},
	{name: "umount2", number: unix.SYS_UMOUNT2, errno: unix.EPERM},
	{name: "pivot_root", number: unix.SYS_PIVOT_ROOT, errno: unix.EPERM},
	{name: "chroot", number: unix.SYS_CHROOT, errno: unix.EPERM},
	{name: "move_mount", number: unix.SYS_MOVE_MOUNT, errno: unix.EPERM},
	{name: "open_tree", number: unix.SYS_OPEN_TREE, errno: unix.EPERM},
	{name: "open_tree_attr", number: unix.SYS_OPEN_TREE_ATTR, errno: unix.EPERM},
	{name: "fsopen", number: unix.SYS_FSOPEN, errno: unix.EPERM},
	{name: "fsconfig", number: unix.SYS_FSCONFIG, errno: unix.EPERM},
	{name: "fsmount", number: unix.SYS_FSMOUNT, errno: unix.EPERM},
	{name: "fspick", number: unix.SYS_FSPICK, errno: unix.EPERM},
	{name: "mount_setattr", number: unix.SYS_MOUNT_SETATTR, errno: unix.EPERM},
	{name: "open_by_handle_at", number: unix.SYS_OPEN_BY_HANDLE_AT, errno: unix.EPERM},
	{name: "fanotify_init", number: unix.SYS_FANOTIFY_INIT, errno: unix.EPERM},
	{name: "quotactl", number: unix.SYS_QUOTACTL, errno: unix.EPERM},
	{name: "quotactl_fd", number: unix.SYS_QUOTACTL_FD, errno: unix.EPERM},
	{name: "file_setattr", number: unix.SYS_FILE_SETATTR, errno: unix.ENOSYS},

	// Namespaces, in which a program would have all rights again. Filters cannot read the flags of
	// clone3; without it programs use clone.
	{name: "setns", number: unix.SYS_SETNS, errno: unix.EPERM},
	{name: "unshare of namespaces", number: unix.SYS_UNSHARE, errno: unix.EPERM, tests: []test{has(0, namespaces|unix.CLONE_NEWTIME)}},
	{name: "clone into namespaces", number: unix.SYS_CLONE, errno: unix.EPERM, tests: []test{has(0, namespaces)}},
	{name: "clone3", number: unix.SYS_CLONE3, errno: unix.ENOSYS},

	// Memory that no process maps, so that Yuba cannot measure it. Files in memory count toward no
	// limit of a process and can be passed through sockets. System V objects stay after the last
	// process has detached.
	{name: "memfd_create", number: unix.SYS_MEMFD_CREATE, errno: unix.ENOSYS},
	{name: "memfd_secret", number: unix.SYS_MEMFD_SECRET, errno: unix.ENOSYS},
	{name: "shmget", number: unix.SYS_SHMGET, errno: unix.EPERM},
	{name: "msgget", number: unix.SYS_MSGGET, errno: unix.EPERM},
	{name: "semget", number: unix.SYS_SEMGET, errno: unix.EPERM},

	// Programs in the kernel, and interfaces that work without further system calls and so bypass
	// this table.
	{name: "bpf", number: unix.SYS_BPF, errno: unix.EPERM},
	{name: "perf_event_open", number: unix.SYS_PERF_EVENT_OPEN, errno: unix.EPERM},
	{name: "userfaultfd", number: unix.SYS_USERFAULTFD, errno: unix.EPERM},
	{name: "io_uring_setup", number: unix.SYS_IO_URING_SETUP, errno: unix.ENOSYS},
	{name: "io_uring_enter", number: unix.SYS_IO_URING_ENTER, errno: unix.ENOSYS},
	{name: "io_uring_register", number: unix.SYS_IO_URING_REGISTER, errno: unix.ENOSYS},

	// The machine.
	{name: "kexec_load", number: unix.SYS_KEXEC_LOAD, errno: unix.EPERM},
	{name: "kexec_file_load", number: unix.SYS_KEXEC_FILE_LOAD, errno: unix.EPERM},
	{name: "init_module", number: unix.SYS_INIT_MODULE, errno: unix.EPERM},
	{name: "finit_module", number: unix.SYS_FINIT_MODULE, errno: unix.EPERM},
	{name: "delete_module", number: unix.SYS_DELETE_MODULE, errno: unix.EPERM},
	{name: "reboot", number: unix.SYS_REBOOT, errno: unix.EPERM},
	{name: "swapon", number: unix.SYS_SWAPON, errno: unix.EPERM},
	{name: "swapoff", number: unix.SYS_SWAPOFF, errno: unix.EPERM},
	{name: "acct", number: unix.SYS_ACCT, errno: unix.EPERM},
	{name: "syslog", number: unix.SYS_SYSLOG, errno: unix.EPERM},
	{name: "vhangup", number: unix.SYS_VHANGUP, errno: unix.EPERM},
	{name: "sethostname", number: unix.SYS_SETHOSTNAME, errno: unix.EPERM},
	{name: "setdomainname", number: unix.SYS_SETDOMAINNAME, errno: unix.EPERM},
	{name: "settimeofday", number: unix.SYS_SETTIMEOFDAY, errno: unix.EPERM},
	{name: "clock_settime", number: unix.SYS_CLOCK_SETTIME, errno: unix.EPERM},

	// Other users. Without capabilities these calls have no effect that a program needs.
	{name: "setgroups", number: unix.SYS_SETGROUPS, errno: unix.EPERM},

	// Set-uid and set-gid files, and devices. Filters cannot read the mode of openat2; without it
	// programs use openat.
	{name: "fchmod with set-id bits", number: unix.SYS_FCHMOD, errno: unix.EPERM, tests: []test{has(1, setIDs)}},
	{name: "fchmodat with set-id bits", number: unix.SYS_FCHMODAT, errno: unix.EPERM, tests: []test{has(2, setIDs)}},
	{name: "fchmodat2 with set-id bits", number: unix.SYS_FCHMODAT2, errno: unix.EPERM, tests: []test{has(2, setIDs)}},
	{name: "openat with set-id bits", number: unix.SYS_OPENAT, errno: unix.EPERM, tests: []test{has(2, creates), has(3, setIDs)}},
	{name: "openat2", number: unix.SYS_OPENAT2, errno: unix.ENOSYS},
	{name: "mkdirat with set-id bits", number: unix.SYS_MKDIRAT, errno: unix.EPERM, tests: []test{has(2, setIDs)}},
	{name: "mknodat with set-id bits", number: unix.SYS_MKNODAT, errno: unix.EPERM, tests: []test{has(2, setIDs)}},
	{name: "mknodat of a device", number: unix.SYS_MKNODAT, errno: unix.EPERM, tests: []test{devices(2)}},

	// Terminals: what is typed for a person goes to their shell, which nothing confines. Where the
	// kernel still allows it, TIOCSTI puts characters into the input as if they had been typed;
	// TIOCLINUX pastes on the console.
	{name: "ioctl TIOCSTI", number: unix.SYS_IOCTL, errno: unix.EPERM, tests: []test{is(1, unix.TIOCSTI)}},
	{name: "ioctl TIOCLINUX", number: unix.SYS_IOCTL, errno: unix.EPERM, tests: []test{is(1, tiocLinux)}},

	// Connections to anything but the network and Unix sockets: to the machine below this one, the
	// kernel's cryptography, Bluetooth.
	{name: "socket of another family", number: unix.SYS_SOCKET, errno: unix.EAFNOSUPPORT, tests: []test{families()}},
	// Landlock only restricts TCP, and these protocols take ports, too.
	{name: "socket of another protocol", number: unix.SYS_SOCKET, errno: unix.EPROTONOSUPPORT, tests: []test{is(2, unix.IPPROTO_MPTCP, unix.IPPROTO_SCTP, unix.IPPROTO_DCCP, unix.IPPROTO_UDPLITE)}},
	{name: "socketpair of another family", number: unix.SYS_SOCKETPAIR, errno: unix.EAFNOSUPPORT, tests: []test{families()}},

	// Other instruction sets, and weaker memory protection.
	{name: "personality", number: unix.SYS_PERSONALITY, errno: unix.EPERM, tests: []test{isNot(0, 0, 0x8, 0x20000, 0x20008, 0xffffffff)}},
}

func devices(argument int) test {
	return test{argument: argument, mask: unix.S_IFMT, values: []uint32{unix.S_IFCHR, unix.S_IFBLK}}
}

func families() test { return isNot(0, unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK) }

// shared are the calls that reach other processes of the same user where nothing else separates
// them: in the namespaces of the machine.
var shared = []rule{
	{name: "prlimit64 of another process", number: unix.SYS_PRLIMIT64, errno: unix.EPERM, tests: []test{isNot(0, 0)}},
	{name: "setpriority of others", number: unix.SYS_SETPRIORITY, errno: unix.EPERM, tests: []test{isNot(1, 0)}},
	{name: "setpriority of a user", number: unix.SYS_SETPRIORITY, errno: unix.EPERM, tests: []test{is(0, unix.PRIO_USER)}},
	{name: "ioprio_set of others", number: unix.SYS_IOPRIO_SET, errno: unix.EPERM, tests: []test{isNot(1, 0)}},
	{name: "sched_setaffinity of another process", number: unix.SYS_SCHED_SETAFFINITY, errno: unix.EPERM, tests: []test{isNot(0, 0)}},
	{name: "sched_setscheduler of another process", number: unix.SYS_SCHED_SETSCHEDULER, errno: unix.EPERM, tests: []test{isNot(0, 0)}},
	{name: "sched_setparam of another process", number: unix.SYS_SCHED_SETPARAM, errno: unix.EPERM, tests: []test{isNot(0, 0)}},
	{name: "sched_setattr of another process", number: unix.SYS_SCHED_SETATTR, errno: unix.EPERM, tests: []test{isNot(0, 0)}},

	// Queues of messages that belong to no process.
	{name: "mq_open", number: unix.SYS_MQ_OPEN, errno: unix.EPERM},
}

// identities adds rules that refuse every user and group except the program's own, which programs
// may set again.
func identities(rules []rule, user, group uint32) []rule {
	for _, c := range [...]struct {
		name      string
		number    uint32
		own       uint32
		arguments int
	}{
		{"setuid", unix.SYS_SETUID, user, 1}, {"setreuid", unix.SYS_SETREUID, user, 2}, {"setresuid", unix.SYS_SETRESUID, user, 3}, {"setfsuid", unix.SYS_SETFSUID, user, 1},
		{"setgid", unix.SYS_SETGID, group, 1}, {"setregid", unix.SYS_SETREGID, group, 2}, {"setresgid", unix.SYS_SETRESGID, group, 3}, {"setfsgid", unix.SYS_SETFSGID, group, 1},
	} {
		for argument := range c.arguments {
			rules = append(rules, rule{name: c.name, number: c.number, errno: unix.EPERM, tests: []test{isNot(argument, c.own, unchanged)}})
		}
	}
	return rules
}

// refusals returns the rules for a program of a user, in the order of their numbers. With alone
// set, the program has its own namespaces.
func refusals(user, group int, alone bool) []rule {
	rules := append(append(make([]rule, 0, 128), always...), legacy...) // enough for all rules
	rules = identities(rules, uint32(user), uint32(group))              //nolint:gosec // ids are small
	if !alone {
		rules = append(rules, shared...)
	}
	slices.SortStableFunc(rules, func(a, b rule) int { return cmp.Compare(a.number, b.number) })
	return rules
}
