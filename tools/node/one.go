// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"
)

// onPart kills one part of a node, or starts it and waits until it answers.
func onPart(dir, verb, name string) error {
	all := parts(dir)
	i := slices.IndexFunc(all, func(p part) bool { return p.name == name })
	if i < 0 {
		return fmt.Errorf("there is no part %q", name)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p, err := recorded(dir, name)
	if err != nil {
		return err
	}
	alive := p != nil && p.alive()
	if verb == "kill" {
		if !alive {
			return fmt.Errorf("%s does not run in %s", name, dir)
		}
		p.signal(syscall.SIGKILL)
		return retry(ctx, func() error { return ended([]*process{p}) })
	}
	if alive {
		return fmt.Errorf("%s runs already in %s", name, dir)
	}
	if err := all[i].start(dir); err != nil {
		return err
	}
	return all[i].await(ctx, dir)
}
