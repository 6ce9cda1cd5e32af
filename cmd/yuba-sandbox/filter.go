// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Words of the kernel's struct seccomp_data, by their offset. All machines in machines are
// little-endian.
const (
	dataCall     = 0
	dataMachine  = 4
	dataArgument = 16
)

// test is a condition on the lower half of an argument of a call. The kernel ignores the upper
// half, or it has none of the tested bits.
type test struct {
	argument int
	// mask selects bits of the argument, all if zero; values are the accepted results.
	mask   uint32
	values []uint32
	// any tests whether any of the mask's bits is set instead; not negates the test.
	any, not bool
}

// has tests whether an argument has any of the bits.
func has(argument int, bits uint32) test { return test{argument: argument, mask: bits, any: true} }

// is tests whether an argument is one of the values, isNot whether it is none of them.
func is(argument int, values ...uint32) test { return test{argument: argument, values: values} }

func isNot(argument int, values ...uint32) test {
	return test{argument: argument, values: values, not: true}
}

// rule refuses a call: always, or if all tests hold.
type rule struct {
	name   string
	number uint32
	// errno is the error of the refused call.
	errno unix.Errno
	tests []test
}

// refuse makes the calls of the table fail, for this thread and its program. It reports whether the
// kernel supports it.
func refuse(rules []rule) (bool, error) {
	if len(machines) == 0 {
		return false, nil
	}
	filter := assemble(rules)
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]} //nolint:gosec // some hundred instructions
	err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
	if errors.Is(err, unix.EINVAL) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("refuse system calls: %w", err)
	}
	return true, nil
}

// expected is the capacity of a filter: growing a slice step by step copies it and touches new
// memory each time.
const expected = 1024

// assemble makes the BPF program that the kernel runs before each call, from sorted rules. It is a
// binary search, which keeps calls fast, and also the kernel's own search for calls that are always
// allowed.
func assemble(rules []rule) []unix.SockFilter {
	a := &assembler{program: make([]unix.SockFilter, 0, expected)}
	a.load(dataMachine)
	for _, m := range machines {
		over := a.unless(unix.BPF_JEQ, m)
		a.load(dataCall)
		if foreignCalls != 0 {
			native := a.unless(unix.BPF_JGE, foreignCalls)
			a.answer(unix.ENOSYS)
			a.here(native)
		}
		known := a.unless(unix.BPF_JGE, unknown)
		a.answer(unix.ENOSYS)
		a.here(known)
		a.search(rules)
		a.here(over)
	}
	a.answer(unix.ENOSYS) // another architecture, with other call numbers
	return a.program
}

// assembler writes a BPF program.
type assembler struct{ program []unix.SockFilter }

func (a *assembler) emit(code int, k uint32) {
	a.program = append(a.program, unix.SockFilter{Code: uint16(code), K: k}) //nolint:gosec // constants
}

func (a *assembler) load(offset uint32) { a.emit(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset) }

// unless continues if a comparison is true, and jumps to the mark (see here) otherwise.
func (a *assembler) unless(comparison int, k uint32) (mark int) {
	a.emit(unix.BPF_JMP|comparison|unix.BPF_K, k)
	a.program[len(a.program)-1].Jt = 1 // skip the long jump: conditional jumps are short
	return a.jump()
}

func (a *assembler) jump() (mark int) {
	a.emit(unix.BPF_JMP|unix.BPF_JA, 0)
	return len(a.program) - 1
}

func (a *assembler) here(mark int) {
	a.program[mark].K = uint32(len(a.program) - mark - 1) //nolint:gosec // some hundred instructions
}

func (a *assembler) allow() { a.emit(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ALLOW) }

func (a *assembler) answer(errno unix.Errno) {
	a.emit(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ERRNO|uint32(errno)) //nolint:gosec // errors are small
}

// search finds the rules of a call among sorted rules.
func (a *assembler) search(rules []rule) {
	middle := len(rules) / 2
	for middle < len(rules) && middle > 0 && rules[middle].number == rules[middle-1].number {
		middle-- // the rules of one call stay together
	}
	if len(rules) == 0 || middle == 0 {
		a.decide(rules)
		return
	}
	lower := a.unless(unix.BPF_JGE, rules[middle].number)
	a.search(rules[middle:])
	a.here(lower)
	a.search(rules[:middle])
}

// decide checks the few remaining rules one after the other.
func (a *assembler) decide(rules []rule) {
	for _, r := range rules {
		other := a.unless(unix.BPF_JEQ, r.number)
		fails := make([]int, 0, 6) // a call has six arguments
		for _, t := range r.tests {
			fails = append(fails, a.ask(t))
		}
		a.answer(r.errno)
		for _, mark := range fails {
			a.here(mark)
		}
		if len(fails) > 0 {
			a.load(dataCall) // for the next rule
		}
		a.here(other)
	}
	a.allow()
}

// ask continues if the test holds.
func (a *assembler) ask(t test) (no int) {
	a.load(dataArgument + 8*uint32(t.argument)) //nolint:gosec // there are six arguments
	if t.any {
		return a.unless(unix.BPF_JSET, t.mask)
	}
	if t.mask != 0 {
		a.emit(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, t.mask)
	}
	found := make([]int, 0, 8) // a constant capacity stays on the stack
	for _, value := range t.values {
		mismatch := a.unless(unix.BPF_JEQ, value)
		found = append(found, a.jump())
		a.here(mismatch)
	}
	if t.not { // none of them: yes
		yes := a.jump()
		for _, mark := range found {
			a.here(mark)
		}
		no = a.jump()
		a.here(yes)
		return no
	}
	no = a.jump()
	for _, mark := range found {
		a.here(mark)
	}
	return no
}
