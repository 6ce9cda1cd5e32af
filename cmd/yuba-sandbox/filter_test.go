// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"golang.org/x/sys/unix"
)

// ask runs a filter as the kernel does, and returns its answer for a call.
func ask(t *testing.T, program []unix.SockFilter, machine, number uint32, arguments [6]uint64) uint32 {
	t.Helper()
	words := map[uint32]uint32{dataCall: number, dataMachine: machine}
	for i, a := range arguments {
		words[dataArgument+8*uint32(i)], words[dataArgument+8*uint32(i)+4] = uint32(a), uint32(a>>32)
	}
	var a uint32
	for at := 0; at < len(program); at++ {
		i := program[at]
		compare := func(yes bool) {
			if yes {
				at += int(i.Jt)
			} else {
				at += int(i.Jf)
			}
		}
		switch i.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			a = words[i.K]
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			a &= i.K
		case unix.BPF_JMP | unix.BPF_JA:
			at += int(i.K)
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			compare(a == i.K)
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			compare(a >= i.K)
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			compare(a&i.K != 0)
		case unix.BPF_RET | unix.BPF_K:
			return i.K
		default:
			t.Fatalf("instruction %d: %+v", at, i)
		}
	}
	t.Fatal("the filter has no end")
	return 0
}

const own = 1234

// calledFor makes arguments that all the tests of a rule say yes to.
func calledFor(r rule) [6]uint64 {
	arguments := harmless[r.number] // for the other rules of the call
	for _, test := range r.tests {
		switch {
		case test.any:
			arguments[test.argument] |= uint64(test.mask & -test.mask) // one bit is enough
		case test.not:
			arguments[test.argument] = 77
		default:
			arguments[test.argument] = uint64(test.values[0])
		}
	}
	return arguments
}

// harmless are calls that the tests of a rule say no to.
var harmless = map[uint32][6]uint64{
	unix.SYS_CLONE:   {unix.CLONE_VM | unix.CLONE_VFORK | uint64(unix.SIGCHLD)},
	unix.SYS_UNSHARE: {unix.CLONE_FILES},
	unix.SYS_FCHMOD:  {3, 0o755}, unix.SYS_FCHMODAT: {0, 0, 0o1777}, unix.SYS_FCHMODAT2: {0, 0, 0o644}, unix.SYS_MKDIRAT: {0, 0, 0o755},
	// Without O_CREAT the mode is whatever was in the register.
	unix.SYS_OPENAT: {0, 0, unix.O_RDONLY, 0o7777}, unix.SYS_MKNODAT: {0, 0, unix.S_IFIFO | 0o600},
	unix.SYS_IOCTL: {0, unix.TCGETS}, unix.SYS_SOCKET: {unix.AF_INET6, unix.SOCK_STREAM, unix.IPPROTO_TCP}, unix.SYS_SOCKETPAIR: {unix.AF_UNIX},
	unix.SYS_PERSONALITY: {0xffffffff}, unix.SYS_MOVE_PAGES: {0},
	unix.SYS_SETUID: {own}, unix.SYS_SETREUID: {0xffffffff, own}, unix.SYS_SETRESUID: {own, own, 1<<32 - 1}, unix.SYS_SETFSUID: {own},
	unix.SYS_SETGID: {own}, unix.SYS_SETREGID: {own, own}, unix.SYS_SETRESGID: {own, own, own}, unix.SYS_SETFSGID: {own},
	unix.SYS_PRLIMIT64: {0, unix.RLIMIT_NOFILE}, unix.SYS_SETPRIORITY: {unix.PRIO_PROCESS, 0}, unix.SYS_SETRLIMIT: {unix.RLIMIT_CORE},
}

func TestEachRefusalIsOneOfTheFilter(t *testing.T) {
	for _, alone := range []bool{true, false} {
		rules := refusals(own, own, alone)
		program := assemble(rules)
		if len(program) > unix.BPF_MAXINSNS {
			t.Fatalf("%d instructions are more than the kernel takes", len(program))
		}
		refused := map[uint32]bool{}
		for _, r := range rules {
			refused[r.number] = true
			for _, machine := range machines {
				want := unix.SECCOMP_RET_ERRNO | uint32(r.errno)
				if got := ask(t, program, machine, r.number, calledFor(r)); got != want {
					t.Errorf("%s: %#x, want %#x", r.name, got, want)
				}
				arguments, some := harmless[r.number]
				if len(r.tests) > 0 && r.number != unix.SYS_IOPRIO_SET && !some {
					arguments = [6]uint64{} // those of legacy calls, and of calls for oneself
				}
				if len(r.tests) > 0 && ask(t, program, machine, r.number, arguments) != unix.SECCOMP_RET_ALLOW {
					t.Errorf("%s: refused with harmless arguments, too", r.name)
				}
			}
		}
		for number := range uint32(unknown) {
			for _, machine := range machines {
				if got := ask(t, program, machine, number, [6]uint64{}); !refused[number] && got != unix.SECCOMP_RET_ALLOW {
					t.Errorf("call %d: %#x, and no rule speaks of it", number, got)
				}
			}
		}
	}
}

func TestCallsOfOtherMachinesAreRefused(t *testing.T) {
	program := assemble(refusals(own, own, true))
	const notThere = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	others := []uint32{unix.AUDIT_ARCH_I386, unix.AUDIT_ARCH_ARM, unix.AUDIT_ARCH_S390X}
	for _, machine := range others {
		if got := ask(t, program, machine, 1, [6]uint64{}); got != notThere {
			t.Errorf("machine %#x: %#x", machine, got)
		}
	}
	for _, machine := range machines {
		numbers := []uint32{unknown, unknown + 1000, 1 << 31}
		if foreignCalls != 0 {
			numbers = append(numbers, foreignCalls|1, foreignCalls|512)
		}
		for _, number := range numbers {
			if got := ask(t, program, machine, number, [6]uint64{}); got != notThere {
				t.Errorf("call %#x: %#x", number, got)
			}
		}
	}
}

// The upper half of an argument counts for nothing in the kernel, and must count for nothing in the filter.
func TestUpperHalvesHideNothing(t *testing.T) {
	program := assemble(refusals(own, own, true))
	for _, c := range []struct {
		number    uint32
		arguments [6]uint64
	}{
		{unix.SYS_IOCTL, [6]uint64{0, 1<<32 | unix.TIOCSTI}},
		{unix.SYS_SETUID, [6]uint64{own << 32}},
		{unix.SYS_SOCKET, [6]uint64{1<<32 | unix.AF_VSOCK}},
		{unix.SYS_FCHMOD, [6]uint64{3, 1<<40 | 0o4755}},
	} {
		for _, machine := range machines {
			if got := ask(t, program, machine, c.number, c.arguments); got == unix.SECCOMP_RET_ALLOW {
				t.Errorf("call %d with %v is allowed", c.number, c.arguments)
			}
		}
	}
}
