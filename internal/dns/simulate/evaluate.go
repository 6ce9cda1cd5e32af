// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"
)

const (
	// maxSteps limits an evaluation: about the default of PowerDNS' lua-records-exec-limit.
	maxSteps = 1000
	// maxChoices limits the evaluations of one record, one for each combination of choices.
	maxChoices = 1000
)

// World is what the answer depends on.
type World struct {
	// Down are the addresses whose checks fail.
	Down map[netip.Addr]bool
	// From is the address of the client, or of its resolver.
	From netip.Addr
	// Locate returns latitude and longitude of an address, as the geoip backend does; nil if the
	// server does not have it.
	Locate func(netip.Addr) (latitude, longitude float64)
}

// Outcome is one possible answer.
type Outcome struct {
	// Addresses are sorted: their order in an answer has no meaning.
	Addresses []netip.Addr
	// Share is the part of the clients, or of the queries, that get it.
	Share float64
}

// Evaluate returns the possible answers of a record, the most frequent one first.
func Evaluate(code string, w World) ([]Outcome, error) {
	shares := map[string]*Outcome{}
	c := &choices{}
	for range maxChoices {
		addresses, err := run(code, &w, c)
		if err != nil {
			return nil, err
		}
		key := fmt.Sprint(addresses)
		if shares[key] == nil {
			shares[key] = &Outcome{Addresses: addresses}
		}
		shares[key].Share += c.share()
		if !c.next() {
			return sorted(shares), nil
		}
	}
	return nil, fmt.Errorf("evaluate the record: it has more than %d possible answers", maxChoices)
}

func sorted(shares map[string]*Outcome) (all []Outcome) {
	for _, o := range shares {
		all = append(all, *o)
	}
	slices.SortFunc(all, func(a, b Outcome) int {
		switch {
		case a.Share > b.Share+1e-9:
			return -1
		case b.Share > a.Share+1e-9:
			return 1
		}
		return slices.CompareFunc(a.Addresses, b.Addresses, netip.Addr.Compare)
	})
	return all
}

// run evaluates a record once, with the choices that it is given.
func run(code string, w *World, c *choices) (addresses []netip.Addr, err error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true, CallStackSize: 64, RegistrySize: 4096, RegistryMaxSize: 64 << 10})
	defer state.Close()
	limit := &steps{left: maxSteps, done: make(chan struct{})}
	state.SetContext(limit)
	c.at = 0
	(&model{World: w, choices: c}).install(state)
	// PowerDNS evaluates an expression, or what follows a semicolon as statements.
	program, statements := strings.CutPrefix(code, ";")
	if !statements {
		program = "return " + code
	}
	function, err := state.Load(strings.NewReader(program), "record")
	if err != nil {
		return nil, fmt.Errorf("the record is not valid Lua: %w", err)
	}
	state.Push(function)
	if err := state.PCall(0, 1, nil); err != nil {
		if limit.left <= 0 {
			return nil, fmt.Errorf("the record takes more than %d steps; PowerDNS would end it", maxSteps)
		}
		var wrong *lua.ApiError
		if errors.As(err, &wrong) {
			return nil, fmt.Errorf("evaluate the record: %s", wrong.Object)
		}
		return nil, fmt.Errorf("evaluate the record: %w", err)
	}
	return result(state.Get(-1))
}

// result reads what a record answers with: an address, or a table of them.
func result(value lua.LValue) (addresses []netip.Addr, err error) {
	list, err := stringsOf(value)
	if text, ok := value.(lua.LString); ok {
		list, err = []string{string(text)}, nil
	}
	if err != nil || len(list) == 0 {
		return nil, fmt.Errorf("the record answers with %s, not with addresses", value.Type())
	}
	for _, text := range list {
		address, err := netip.ParseAddr(text)
		if err != nil {
			return nil, fmt.Errorf("the record answers with %q, which is not an address", text)
		}
		addresses = append(addresses, address)
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	return addresses, nil
}

// steps is a context that ends after a number of instructions: the machine asks it before each.
type steps struct {
	left int
	done chan struct{}
}

func (s *steps) Done() <-chan struct{} {
	if s.left--; s.left == 0 {
		close(s.done)
	}
	return s.done
}

func (s *steps) Err() error {
	if s.left <= 0 {
		return context.DeadlineExceeded
	}
	return nil
}

func (s *steps) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }
func (s *steps) Value(any) any                           { return nil }

// choices goes through all combinations of what a record chooses.
type choices struct {
	// made are the choices in their order; each with the weights of its options.
	made []choice
	at   int
}

type choice struct {
	weights []int
	option  int
}

// pick returns an option; next decides which.
func (c *choices) pick(weights []int) int {
	if c.at == len(c.made) {
		c.made = append(c.made, choice{weights, 0})
		c.forward(c.at, 0)
	}
	c.at++
	return c.made[c.at-1].option
}

// forward moves a choice to its next option that has a weight, from one on.
func (c *choices) forward(i, from int) bool {
	for o := from; o < len(c.made[i].weights); o++ {
		if c.made[i].weights[o] > 0 {
			c.made[i].option = o
			return true
		}
	}
	return false
}

// next prepares the next combination. It returns false after the last one.
func (c *choices) next() bool {
	for len(c.made) > 0 {
		last := len(c.made) - 1
		if c.forward(last, c.made[last].option+1) {
			return true
		}
		c.made = c.made[:last]
	}
	return false
}

// share is the probability of the combination.
func (c *choices) share() float64 {
	share := 1.0
	for _, m := range c.made {
		sum := 0
		for _, w := range m.weights {
			sum += w
		}
		share *= float64(m.weights[m.option]) / float64(sum)
	}
	return share
}
