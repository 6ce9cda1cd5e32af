// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// earlier is what up finds of earlier nodes on the machine.
type earlier struct {
	// dir is up's directory.
	dir string
	// linked reports whether a node's interface exists, and owner is the directory that it names, if any.
	linked bool
	owner  string
	// alive are the parts of a node that live in the interface's directory, if that is another one than dir.
	alive []string
	// stranger reports whether a process that no directory records listens where a node's etcd does.
	stranger bool
	// works reports whether all parts of a node live in dir, and its API server answers.
	works bool
}

// verb is what becomes of an earlier node.
type verb string

const (
	keep    verb = "keep"
	replace verb = "replace"
)

// patience is how long the API server of a node that seems to work may take to answer.
const patience = 15 * time.Second

// look finds what there is of earlier nodes.
func look(ctx context.Context, dir string) (earlier, error) {
	e := earlier{dir: dir}
	var err error
	if e.owner, e.linked, err = readLink(ctx); err != nil {
		return e, err
	}
	if e.owner != "" && e.owner != dir {
		if e.alive, err = living(e.owner); err != nil {
			return e, err
		}
	}
	here, err := living(dir)
	if err != nil {
		return e, err
	}
	e.stranger = !slices.Contains(here, "etcd") && dial("tcp", etcdClients) == nil
	if e.linked && len(e.alive) == 0 && len(here) == len(parts(dir)) {
		soon, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		e.works = retry(soon, func() error { return isServed(soon, dir) }) == nil
	}
	return e, nil
}

// living are the parts of a directory's node that are alive.
func living(dir string) ([]string, error) {
	var names []string
	for _, p := range parts(dir) {
		recorded, err := recorded(dir, p.name)
		if err != nil {
			return nil, err
		}
		if recorded != nil && recorded.alive() {
			names = append(names, p.name)
		}
	}
	return names, nil
}

// decide decides what becomes of earlier nodes. It fails if a node of another directory lives.
func decide(e earlier) (verb, error) {
	switch {
	case len(e.alive) > 0: // whoever uses it must not lose it
		return "", fmt.Errorf("a node runs in %s (%s), and a machine has room for one. To end it:\n    kube-node down %s",
			e.owner, strings.Join(e.alive, ", "), e.owner)
	case e.stranger: // it may be a node whose directory somebody deleted while it ran
		return "", errors.New("a process that no node's directory records listens on " + etcdClients + ", where a node's etcd would. Find and stop it:\n    ss -ltnp")
	case e.works:
		return keep, nil
	}
	return replace, nil // nothing of it is of use
}

// clear removes what is left of earlier nodes.
func clear(ctx context.Context, e earlier) error {
	dirs := []string{e.dir}
	if e.owner != "" {
		dirs = append(dirs, e.owner)
	}
	slices.Sort(dirs)
	for _, dir := range slices.Compact(dirs) {
		if err := end(ctx, dir); err != nil {
			return fmt.Errorf("end the node in %s: %w", dir, err)
		}
	}
	if !e.linked {
		return nil
	}
	return removeNetwork(ctx)
}
