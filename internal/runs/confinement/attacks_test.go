// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package confinement

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Walls, as the table names them: an attempt must fail where any of the walls stands that it names.
type wall int

const (
	// byFilter, byFiles (namespaces), byUser and byLandlock are the walls; always is all of them
	// and the kernel.
	byFilter wall = 1 << iota
	byFiles
	byUser
	byLandlock
	// byFilterShared is the filter where programs are among the machine's processes; elsewhere the
	// attempt works, and reaches nothing but the program's own.
	byFilterShared
	always
	// never is for what a program must be able to do.
	never wall = 0
)

func (w Walls) refuses(by wall) bool {
	return by&always != 0 || by&byFilterShared != 0 && w.Filter && !w.Alone() || by&byFilter != 0 && w.Filter || by&byFiles != 0 && w.Alone() || by&byUser != 0 && w.Users || by&byLandlock != 0 && w.Landlock > 0
}

// victim is what attacks are on: files of another stack and of the server, and the server itself.
type victim struct {
	Dir, File, Script, Socket, Abstract, Secret string
	Server, Port, Down, Segment, Queue, Key     int
}

// attempt is one thing that a program tries.
type attempt struct {
	name string
	by   wall
	do   func(v victim) error
}

func call(number uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

func text(s string) uintptr {
	p, err := unix.BytePtrFromString(s)
	if err != nil {
		panic(err)
	}
	return uintptr(unsafe.Pointer(p))
}

// dirNow is the working directory, for calls that take a directory.
var dirNow = func(fd int) uintptr { return uintptr(fd) }(unix.AT_FDCWD)

func ok[T any](_ T, err error) error { return err }

// reached turns around errors of the kernel that are not refusals: the call has come where it does
// harm.
func reached(err error, harmless ...error) error {
	for _, h := range harmless {
		if errors.Is(err, h) {
			return nil
		}
	}
	return err
}

// attempts on files that are another stack's or the server's.
var onFiles = []attempt{
	{"read another's file", byFiles | byUser | byLandlock, func(v victim) error { return ok(os.ReadFile(v.File)) }},
	{"look at another's file", byFiles | byUser, func(v victim) error { return ok(os.Stat(v.File)) }},
	{"ask whether another's file exists", byFiles | byUser, func(v victim) error { return unix.Access(v.File, unix.F_OK) }},
	{"list another's directory", byFiles | byUser | byLandlock, func(v victim) error { return ok(os.ReadDir(v.Dir)) }},
	{"enter another's directory", byFiles | byUser, func(v victim) error {
		home, err := os.Getwd()
		if err != nil {
			return nil
		}
		defer os.Chdir(home) //nolint:errcheck // it would show
		return os.Chdir(v.Dir)
	}},
	{"write another's file", byFiles | byUser | byLandlock, func(v victim) error { return os.WriteFile(v.File, []byte("x"), 0) }},
	{"append to another's file", byFiles | byUser | byLandlock, func(v victim) error { return ok(os.OpenFile(v.File, os.O_APPEND|os.O_WRONLY, 0)) }},
	{"truncate another's file", byFiles | byUser | byLandlock, func(v victim) error { return os.Truncate(v.File, 0) }},
	{"plant a file", byFiles | byUser | byLandlock, func(v victim) error { return os.WriteFile(v.Dir+"/planted", nil, 0o600) }},
	{"plant a directory", byFiles | byUser | byLandlock, func(v victim) error { return os.Mkdir(v.Dir+"/planted.d", 0o700) }},
	{"plant a link", byFiles | byUser | byLandlock, func(v victim) error { return os.Symlink("/etc/passwd", v.Dir+"/planted.l") }},
	{"plant a pipe", byFiles | byUser | byLandlock, func(v victim) error { return unix.Mkfifo(v.Dir+"/planted.p", 0o600) }},
	{"remove another's file", byFiles | byUser | byLandlock, func(v victim) error { return os.Remove(v.Dir + "/spare1") }},
	{"move another's file away", byFiles | byUser | byLandlock, func(v victim) error { return os.Rename(v.Dir+"/spare2", "loot2") }},
	{"link to another's file", byFiles | byUser | byLandlock, func(v victim) error { return os.Link(v.Dir+"/spare3", "loot3") }},
	{"follow a link to another's file", byFiles | byUser | byLandlock, func(v victim) error {
		return errors.Join(os.Symlink(v.File, "link"), ok(os.ReadFile("link")))
	}},
	{"change the mode of another's file", byFiles | byUser, func(v victim) error { return os.Chmod(v.File, 0o607) }},
	{"change the mode of another's directory", byFiles | byUser, func(v victim) error { return os.Chmod(v.Dir, 0o705) }},
	{"change the owner of another's file", byFiles | byUser, func(v victim) error { return os.Lchown(v.File, os.Getuid(), os.Getgid()) }},
	{"change the times of another's file", byFiles | byUser, func(v victim) error { return os.Chtimes(v.File, time.Unix(1, 0), time.Unix(1, 0)) }},
	{"set an attribute of another's file", byFiles | byUser, func(v victim) error { return unix.Setxattr(v.File, "user.x", []byte("x"), 0) }},
	{"read an attribute of another's file", byFiles | byUser, func(v victim) error {
		return reached(ok(unix.Getxattr(v.File, "user.nothing", nil)), unix.ENODATA)
	}},
	{"list the attributes of another's file", byFiles | byUser, func(v victim) error { return ok(unix.Listxattr(v.File, nil)) }},
	{"watch another's directory", byFiles | byUser, func(v victim) error {
		fd, err := unix.InotifyInit1(0)
		if err != nil {
			return fmt.Errorf("not even its own: %w", err)
		}
		return ok(unix.InotifyAddWatch(fd, v.Dir, unix.IN_ALL_EVENTS))
	}},
	{"watch the whole file system", always, func(victim) error { return call(unix.SYS_FANOTIFY_INIT, unix.FAN_CLASS_NOTIF|unix.FAN_REPORT_FID, 0) }},
	{"start another's program", byFiles | byUser | byLandlock, func(v victim) error { return exec.Command(v.Script).Run() }},
	{"connect to another's socket", byFiles | byUser, func(v victim) error { return ok(net.Dial("unix", v.Socket)) }},
	{"listen where another's socket is to be", byFiles | byUser | byLandlock, func(v victim) error { return ok(net.Listen("unix", v.Dir+"/taken")) }},
	{"read the server's secret file", byFiles | byUser | byLandlock, func(v victim) error { return ok(os.ReadFile(v.Secret)) }},
	{"make the server's secret file readable for all", byFiles | byUser, func(v victim) error { return os.Chmod(v.Secret, 0o607) }},
	{"open a file by its number", always, func(victim) error {
		handle := unix.NewFileHandle(1, make([]byte, 8))
		return ok(unix.OpenByHandleAt(unix.AT_FDCWD, handle, unix.O_RDONLY))
	}},
	{"read the list of passwords", always, func(victim) error { return ok(os.ReadFile("/etc/shadow")) }},
	{"write to the system", always, func(victim) error { return os.WriteFile("/usr/planted", nil, 0o600) }},
	{"write to a setting of the kernel", always, func(victim) error { return os.WriteFile("/proc/sys/kernel/core_pattern", []byte("|/x"), 0) }},
	{"read the machine's memory", always, func(victim) error { return ok(os.Open("/dev/mem")) }},
	{"read the kernel's log by its file", always, func(victim) error { return ok(os.Open("/dev/kmsg")) }},
	{"open a terminal", always, func(victim) error { return ok(os.OpenFile("/dev/ptmx", os.O_RDWR, 0)) }},
	{"read the first disk", always, func(victim) error { return ok(os.Open("/dev/vda")) }},
	{"list the root", byLandlock, func(victim) error { return ok(os.ReadDir("/")) }},
	{"leave a file in shared memory", byFiles | byLandlock, func(victim) error { return os.WriteFile("/dev/shm/left", nil, 0o600) }},
	{"leave a file among everybody's temporary ones", byFiles | byLandlock, func(victim) error { return os.WriteFile("/var/tmp/left", nil, 0o600) }},
}

// attempts on other processes.
var onProcesses = []attempt{
	{"see the server", byFiles, func(v victim) error { return ok(os.Stat(fmt.Sprintf("/proc/%d", v.Server))) }},
	{"read the server's environment", byFiles | byUser | byLandlock, func(v victim) error { return ok(os.ReadFile(fmt.Sprintf("/proc/%d/environ", v.Server))) }},
	{"read the server's command line", byFiles | byLandlock, func(v victim) error { return ok(os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", v.Server))) }},
	{"open the server's memory", byFiles | byUser | byLandlock, func(v victim) error { return ok(os.OpenFile(fmt.Sprintf("/proc/%d/mem", v.Server), os.O_RDWR, 0)) }},
	{"come to the server's root", byFiles | byUser | byLandlock, func(v victim) error { return ok(os.ReadDir(fmt.Sprintf("/proc/%d/root/", v.Server))) }},
	{"come to the server's files", byFiles | byUser | byLandlock, func(v victim) error { return ok(os.ReadDir(fmt.Sprintf("/proc/%d/fd", v.Server))) }},
	{"list processes", byLandlock, func(victim) error { return ok(os.ReadDir("/proc")) }},
	{"ask for the server by signal 0", byFiles | byUser | byLandlock, func(v victim) error { return unix.Kill(v.Server, 0) }},
	{"stop the server", byFiles | byUser | byLandlock, func(v victim) error { return unix.Kill(v.Server, unix.SIGCONT) }},
	{"signal the parent", byFiles | byUser | byLandlock, func(victim) error {
		if parent := unix.Getppid(); parent != 0 {
			return unix.Kill(parent, unix.SIGCONT)
		}
		return unix.ESRCH
	}},
	{"trace the server", always, func(v victim) error { return unix.PtraceSeize(v.Server) }},
	{"read the server's memory", always, func(v victim) error {
		local := []unix.Iovec{{Base: &make([]byte, 8)[0], Len: 8}}
		return ok(unix.ProcessVMReadv(v.Server, local, []unix.RemoteIovec{{Base: 4096, Len: 8}}, 0))
	}},
	{"write the server's memory", always, func(v victim) error {
		local := []unix.Iovec{{Base: &make([]byte, 8)[0], Len: 8}}
		return ok(unix.ProcessVMWritev(v.Server, local, []unix.RemoteIovec{{Base: 4096, Len: 8}}, 0))
	}},
	{"hold the server", byFiles, func(v victim) error { return ok(unix.PidfdOpen(v.Server, 0)) }},
	{"take a file of the server", always, func(v victim) error {
		fd, err := unix.PidfdOpen(v.Server, 0)
		if err != nil {
			return err
		}
		return ok(unix.PidfdGetfd(fd, 1, 0))
	}},
	{"lower a limit of the server", byFiles | byUser | byFilter, func(v victim) error {
		var now unix.Rlimit
		if err := unix.Prlimit(v.Server, unix.RLIMIT_CORE, nil, &now); err != nil {
			return err
		}
		return unix.Prlimit(v.Server, unix.RLIMIT_CORE, &now, nil)
	}},
	{"change the server's priority", byFiles | byUser | byFilter, func(v victim) error { return unix.Setpriority(unix.PRIO_PROCESS, v.Server, 15) }},
	{"change the priority of all of the user's processes", byFilterShared, func(v victim) error {
		return unix.Setpriority(unix.PRIO_USER, 0, 0)
	}},
	{"tie the server to a processor", byFiles | byUser | byFilter, func(v victim) error {
		var set unix.CPUSet
		set.Set(0)
		return unix.SchedSetaffinity(v.Server, &set)
	}},
	{"change how the server is scheduled", byFiles | byUser | byFilter, func(v victim) error {
		var none int32
		return call(unix.SYS_SCHED_SETSCHEDULER, uintptr(v.Server), 3 /* SCHED_BATCH */, uintptr(unsafe.Pointer(&none)))
	}},
	{"change the server's priority for disks", byFiles | byUser | byFilter, func(v victim) error {
		return call(unix.SYS_IOPRIO_SET, 1, uintptr(v.Server), 3<<13)
	}},
	{"compare itself with the server", always, func(v victim) error { return call(unix.SYS_KCMP, uintptr(unix.Getpid()), uintptr(v.Server), 0, 0, 0) }},
	{"move the server's memory", always, func(v victim) error { return call(unix.SYS_MIGRATE_PAGES, uintptr(v.Server), 0, 0, 0) }},
	{"become less likely to be ended", always, func(victim) error { return os.WriteFile("/proc/self/oom_score_adj", []byte("0"), 0) }},
	{"open its own output by its name", always, func(victim) error { return ok(os.OpenFile("/proc/self/fd/1", os.O_WRONLY, 0)) }},
	{"take off the mark", byFilter, func(victim) error {
		return unix.Setrlimit(unix.RLIMIT_RTTIME, &unix.Rlimit{Cur: 1 << 60, Max: 1 << 60})
	}},
	{"take off the mark of another process of the run", byFilter, func(victim) error {
		cmd := exec.Command("/bin/sleep", "100")
		if err := cmd.Start(); err != nil {
			return nil
		}
		err := unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_RTTIME, &unix.Rlimit{Cur: 1 << 60, Max: 1 << 60}, nil)
		return errors.Join(err, cmd.Process.Kill(), ignoreKilled(cmd.Wait()))
	}},
}

// attempts to become somebody else, or to have more rights.
var onRights = []attempt{
	{"become root", always, func(victim) error {
		if os.Getuid() == 0 {
			return unix.EPERM // it is, by name only
		}
		return others(unix.SYS_SETUID, 0)
	}},
	{"become another user", always, func(victim) error { return others(unix.SYS_SETUID, 12345) }},
	{"become another user for a while", always, func(victim) error { return others(unix.SYS_SETRESUID, ^uintptr(0), 12345, ^uintptr(0)) }},
	{"join another group", always, func(victim) error { return others(unix.SYS_SETGID, 12345) }},
	{"join another group for a while", always, func(victim) error { return others(unix.SYS_SETREGID, ^uintptr(0), 12345) }},
	{"join more groups", always, func(victim) error { return call(unix.SYS_SETGROUPS, 0, 0) }},
	{"have a right", always, func(victim) error {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		all := [2]unix.CapUserData{{Effective: 1, Permitted: 1, Inheritable: 1}}
		return unix.Capset(&header, &all[0])
	}},
	{"gain rights by starting a program", always, func(victim) error {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var have [2]unix.CapUserData
		if err := unix.Capget(&header, &have[0]); err != nil {
			return err
		}
		if have[0].Effective|have[0].Permitted|have[1].Effective|have[1].Permitted == 0 {
			return unix.EPERM // and this program was started just now
		}
		return nil
	}},
	{"make a program set-uid", byFilter, func(victim) error { return call(unix.SYS_FCHMODAT, dirNow, text("own"), 0o4755) }},
	{"make a file set-uid by its descriptor", byFilter, func(victim) error {
		file, err := os.Open("own")
		if err != nil {
			return nil
		}
		return unix.Fchmod(int(file.Fd()), 0o4755)
	}},
	{"make a set-group-id file", byFilter, func(victim) error { return ok(unix.Open("setgid", unix.O_CREAT|unix.O_WRONLY, 0o2755)) }},
	{"make a set-uid temporary file", byFilter, func(victim) error { return ok(unix.Open(".", unix.O_TMPFILE|unix.O_WRONLY, 0o4755)) }},
	{"make a set-group-id directory", byFilter, func(victim) error { return unix.Mkdir("setgid.d", 0o2755) }},
	{"make a device", always, func(victim) error { return unix.Mknod("device", unix.S_IFBLK|0o600, 1<<8) }},
	{"make namespaces", byFilter, func(victim) error { return unix.Unshare(unix.CLONE_NEWUTS) }},
	{"make a user namespace", byFilter, func(victim) error { return child(&syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}) }},
	{"make a mount namespace with a user namespace", byFilter, func(victim) error {
		return child(&syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS})
	}},
	{"use the call that filters cannot see into", byFilter, func(victim) error {
		return reached(call(unix.SYS_CLONE3, 0, 0), unix.EINVAL, unix.EFAULT)
	}},
	{"join the server's namespaces", always, func(v victim) error {
		file, err := os.Open(fmt.Sprintf("/proc/%d/ns/mnt", v.Server))
		if err != nil {
			return err
		}
		return unix.Setns(int(file.Fd()), 0)
	}},
	{"mount", always, func(victim) error { return unix.Mount("x", "own.d", "tmpfs", 0, "") }},
	{"show a directory elsewhere", always, func(v victim) error { return unix.Mount(v.Dir, "own.d", "", unix.MS_BIND, "") }},
	{"write to the system by mounting it anew", always, func(victim) error { return unix.Mount("", "/usr", "", unix.MS_REMOUNT|unix.MS_BIND, "") }},
	{"unmount", always, func(victim) error { return unix.Unmount("/usr", unix.MNT_DETACH) }},
	{"change the root", always, func(victim) error { return unix.Chroot(".") }},
	{"change the root for all", always, func(victim) error { return unix.PivotRoot(".", ".") }},
	{"copy a part of the file tree", always, func(victim) error { return ok(unix.OpenTree(unix.AT_FDCWD, "/usr", unix.OPEN_TREE_CLONE)) }},
	{"make a file system", always, func(victim) error { return ok(unix.Fsopen("tmpfs", 0)) }},
	{"make a mount writable", always, func(victim) error {
		return unix.MountSetattr(unix.AT_FDCWD, "/usr", 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
	}},
	{"run as on another machine", byFilter, func(victim) error { return call(unix.SYS_PERSONALITY, 0x0400000) }},
}

// others sets ids, on one thread.
func others(number uintptr, args ...uintptr) error { return call(number, args...) }

// child starts a process that does nothing.
func child(attr *syscall.SysProcAttr) error {
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = attr
	return cmd.Run()
}

// attempts on the kernel, and on what is left in it for others.
var onKernel = []attempt{
	{"load a program into the kernel", byFilter, func(victim) error { return reached(call(unix.SYS_BPF, 99, 0, 0), unix.EINVAL) }},
	{"count events of the kernel", byFilter, func(victim) error {
		return reached(call(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, 0, 0), unix.EFAULT, unix.EACCES)
	}},
	{"handle page faults", byFilter, func(victim) error { return call(unix.SYS_USERFAULTFD, 1 /* user mode only */) }},
	{"use io_uring", byFilter, func(victim) error { return reached(call(unix.SYS_IO_URING_SETUP, 1, 0), unix.EFAULT) }},
	{"read another's key", byFilter, func(v victim) error {
		if v.Key == 0 {
			return unix.ENOKEY
		}
		buffer := make([]byte, 16)
		return ok(unix.KeyctlBuffer(unix.KEYCTL_READ, v.Key, buffer, 0))
	}},
	{"leave a key", byFilter, func(victim) error { return ok(unix.AddKey("user", "left", []byte("x"), unix.KEY_SPEC_USER_KEYRING)) }},
	{"ask for a key", byFilter, func(victim) error { return reached(ok(unix.RequestKey("user", "nothing", "", 0)), unix.ENOKEY) }},
	{"start another kernel", always, func(victim) error { return call(unix.SYS_KEXEC_LOAD, 0, 0, 0, 0) }},
	{"load a module of the kernel", always, func(victim) error { return call(unix.SYS_INIT_MODULE, 0, 0, 0) }},
	{"restart the machine", always, func(victim) error { return call(unix.SYS_REBOOT, 0, 0, 0) }},
	{"swap", always, func(victim) error { return call(unix.SYS_SWAPON, text("own"), 0) }},
	{"switch accounting", always, func(victim) error { return call(unix.SYS_ACCT, text("/nowhere")) }},
	{"set quotas", byFilter, func(victim) error {
		return reached(call(unix.SYS_QUOTACTL, 0, 0, 0, 0), unix.ENODEV, unix.EINVAL, unix.ENOENT)
	}},
	{"read the kernel's log", byFilter, func(victim) error { return call(unix.SYS_SYSLOG, 10, 0, 0) }},
	{"rename the machine", always, func(victim) error { return unix.Sethostname([]byte("x")) }},
	{"set the clock", always, func(victim) error { return unix.ClockSettime(unix.CLOCK_REALTIME, &unix.Timespec{Sec: 1}) }},
	{"call as a program for another machine", byFilter, callForeign},
	{"use calls that are newer than the filter", byFilter, func(victim) error { return reached(call(473), nil) }},
	{"use the kernel's cryptography", byFilter, func(victim) error { return ok(unix.Socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0)) }},
	{"talk to the machine below", byFilter, func(victim) error {
		return ok(unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0))
	}},
	{"listen to the network's packets", always, func(victim) error { return ok(unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)) }},
	{"send packets of its own making", always, func(victim) error { return ok(unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)) }},
	{"read another's shared memory", byFiles | byFilter, func(v victim) error { return ok(unix.SysvShmGet(v.Segment, 0, 0)) }},
	{"read another's messages", byFiles | byFilter, func(v victim) error { return call(unix.SYS_MSGGET, uintptr(v.Queue), 0) }},
	{"connect to another's abstract socket", byLandlock, func(v victim) error { return ok(net.Dial("unix", v.Abstract)) }},
	{"take the server's port while it restarts", byLandlock, func(v victim) error { return ok(net.Listen("tcp", fmt.Sprintf("127.0.0.2:%d", v.Down))) }},
	{"take it by a protocol that Landlock does not look at", byFilter, func(v victim) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP)
		if err != nil {
			return err
		}
		return unix.Bind(fd, &unix.SockaddrInet4{Port: v.Down, Addr: [4]byte{127, 0, 0, 2}})
	}},
	{"have more open files", always, func(victim) error {
		var now unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &now); err != nil {
			return err
		}
		return unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: now.Max + 1, Max: now.Max + 1})
	}},
	{"dump core", always, func(victim) error {
		return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1, Max: 1})
	}},
	{"make a file that is larger than files may be", always, func(victim) error { return os.Truncate("own", 65<<20) }},
	{"have more processes than a program may", byFiles | byUser, manyProcesses},
	{"have more memory than a program may", always, muchMemory},
}

// A program gets no memory that is measured nowhere: it would be written to, and let go of, without
// being mapped.
var onMemory = []attempt{
	{"have a file in memory", byFilter, func(victim) error { return ok(unix.MemfdCreate("hidden", 0)) }},
	{"have a file in secret memory", byFilter, func(victim) error { return call(unix.SYS_MEMFD_SECRET, 0) }},
	{"have shared memory that no process maps", byFilter, func(victim) error { return ok(unix.SysvShmGet(leftSegment, 4096, unix.IPC_CREAT|0o666)) }},
	{"have messages wait in the kernel", byFilter, func(victim) error { return call(unix.SYS_MSGGET, leftSegment, unix.IPC_CREAT|0o600) }},
	{"have semaphores in the kernel", byFilter, func(victim) error { return call(unix.SYS_SEMGET, leftSegment, 1, unix.IPC_CREAT|0o600) }},
}

// leftSegment is the number of shared memory that programs try to leave.
const leftSegment = 0x59554241

func everyAttempt() []attempt {
	return slices.Concat(onFiles, onProcesses, onRights, onKernel, onMemory, honest)
}

// attack tries everything and says what came of it, a line of JSON each.
func attack(s scene) error {
	out := json.NewEncoder(os.Stdout)
	for _, a := range everyAttempt() {
		answer := outcome{Name: a.name}
		if err := a.do(s.Victim); err != nil {
			answer.Error = err.Error()
		}
		if err := out.Encode(answer); err != nil {
			return err
		}
	}
	return nil
}

// outcome is what came of an attempt; without an error it worked.
type outcome struct{ Name, Error string }

func init() {
	parts["become"], parts["attack"], parts["serve"] = become, attack, serve
}

// TestAttacks has a hostile program try everything, in every mode: what a wall refuses must fail
// where the wall stands, and what nothing refuses must work, so that the documentation's list of
// holes is true, too.
func TestAttacks(t *testing.T) {
	eachMode(t, func(t *testing.T, m mode) {
		var report report
		if err := json.Unmarshal([]byte(inMode(t, m, "serve", scene{Dir: sceneDir(t, m)})), &report); err != nil {
			t.Fatal(err)
		}
		if report.Walls.Namespaces != m.want.Namespaces || report.Walls.Users != m.want.Users || !report.Walls.Filter || report.Walls.Landlock == 0 {
			t.Errorf("the walls are %+v", report.Walls)
		}
		if len(report.Outcomes) != len(everyAttempt()) {
			t.Fatalf("%d of %d attempts were made\n%s", len(report.Outcomes), len(everyAttempt()), report.Problem)
		}
		for i, a := range everyAttempt() {
			got := report.Outcomes[i]
			if refused := report.Walls.refuses(a.by); refused != (got.Error != "") {
				t.Errorf("%s: %q, refused must be %v", got.Name, got.Error, refused)
			}
		}
	})
}

// sceneDir is a directory that the mode's user can work in.
func sceneDir(t *testing.T, m mode) string {
	t.Helper()
	dir, err := os.MkdirTemp(theStage.dir, "scene-")
	if err := errors.Join(err, os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	if m.user != 0 && os.Geteuid() == 0 {
		if err := os.Chown(dir, m.user, m.user); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
