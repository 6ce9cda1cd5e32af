// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net/netip"
	"path"
	"strconv"
	"strings"
)

// options are the command line.
type options struct {
	rw, ro, rx     []string
	placed         []shown
	root, loopback bool
	// tunnel adds a way out of the network namespace. forwards are loopback addresses that lead to
	// those of the machine, and relay is the command line of the relay, for -spawn.
	tunnel            bool
	forwards          []netip.AddrPort
	relay             []string
	mapped            bool
	mapUser, mapGroup int
	user, group       int
	userMapped        bool
	listen            []uint16
	limits            []limit
	mark              uint64
	background        bool
	require, probe    bool
	follow            bool
	spawn             string
	program           []string
}

// parse reads the command line; package flag would be the larger part of the binary.
func parse(args []string) (options, error) {
	var o options
	for len(args) > 0 {
		name := args[0]
		args = args[1:]
		if name == "--" {
			o.program = args
			break
		}
		if on := o.toggle(name); on != nil {
			*on = true
			continue
		}
		used, err := o.value(name, args)
		if err != nil {
			return o, err
		}
		args = args[used:]
	}
	return o, o.check()
}

// toggle parses a flag without a value.
func (o *options) toggle(name string) *bool {
	switch name {
	case "-root":
		return &o.root
	case "-loopback":
		return &o.loopback
	case "-tunnel":
		return &o.tunnel
	case "-require":
		return &o.require
	case "-background":
		return &o.background
	case "-probe":
		return &o.probe
	case "-follow":
		return &o.follow
	case "-mapped":
		return &o.userMapped
	}
	return nil
}

// value parses a flag with a value, and returns the number of words used.
func (o *options) value(name string, rest []string) (used int, err error) {
	text := ""
	if len(rest) > 0 {
		text = rest[0]
	}
	switch name {
	case "-rw":
		o.rw = append(o.rw, text)
	case "-ro":
		o.ro = append(o.ro, text)
	case "-rx":
		o.rx = append(o.rx, text)
	case "-at":
		if len(rest) < 2 || !path.IsAbs(text) || !path.IsAbs(rest[1]) || path.Clean(rest[1]) != rest[1] || rest[1] == "/" {
			return 0, errors.New("-at needs two absolute paths")
		}
		o.placed = append(o.placed, shown{source: text, path: rest[1], rank: writable})
		return 2, nil
	case "-map":
		o.mapped = true
		o.mapUser, o.mapGroup, err = parseIDs(text)
	case "-user":
		o.user, err = positive(text)
	case "-group":
		o.group, err = positive(text)
	case "-listen":
		var port uint64
		port, err = strconv.ParseUint(text, 10, 16)
		o.listen = append(o.listen, uint16(port)) //nolint:gosec // it was read as one
	case "-forward":
		var to netip.AddrPort
		to, err = netip.ParseAddrPort(text)
		o.forwards = append(o.forwards, to)
	case "-relay":
		o.relay = append(o.relay, text)
	case "-limit":
		var l limit
		l, err = parseLimit(text)
		o.limits = append(o.limits, l)
	case "-mark":
		o.mark, err = strconv.ParseUint(text, 10, 63)
	case "-spawn":
		o.spawn = text
	default:
		return 0, fmt.Errorf("unknown argument %q", name)
	}
	if len(rest) == 0 {
		return 0, fmt.Errorf("%s needs a value", name)
	}
	if err != nil {
		return 0, fmt.Errorf("%s %q: %w", name, text, err)
	}
	return 1, nil
}

func positive(text string) (int, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err == nil && n < 1 {
		err = errors.New("want a number above 0")
	}
	return int(n), err
}

func (o *options) check() error {
	switch {
	case len(o.placed) > 0 && !o.root:
		return errors.New("-at needs -root")
	case (o.tunnel || len(o.forwards) > 0) && (!o.loopback || !o.root || !o.tunnel):
		return errors.New("-tunnel needs -loopback and -root, and -forward needs -tunnel")
	case o.tunnel && o.spawn != "" && len(o.relay) == 0:
		return errors.New("-tunnel and -spawn need -relay")
	case o.group != 0 && o.user == 0:
		return errors.New("-group needs -user")
	case o.userMapped && (o.user == 0 || !o.root || o.mapped):
		return errors.New("-mapped needs -user and -root, and no -map")
	case o.probe:
		return nil
	case len(o.program) == 0 || !strings.HasPrefix(o.program[0], "/"):
		return errors.New("no absolute path of a program after --")
	}
	return nil
}
