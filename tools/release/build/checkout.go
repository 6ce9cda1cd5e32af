// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Checkout is the repository's directory.
type Checkout string

// Git runs git, and returns its output without the last line break.
func (c Checkout) Git(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", string(c)}, args...)...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Version parses a version; an empty one is that of the checked out commit.
func (c Checkout) Version(ctx context.Context, name string) (Version, error) {
	if name == "" {
		var err error
		if name, err = c.Git(ctx, "describe", "--tags", "--always", "--dirty"); err != nil {
			return Version{}, err
		}
	}
	return ParseVersion(name)
}

// Date parses seconds since 1970; an empty text is the time of the checked out commit.
func (c Checkout) Date(ctx context.Context, epoch string) (time.Time, error) {
	if epoch == "" {
		var err error
		if epoch, err = c.Git(ctx, "log", "-1", "--format=%ct"); err != nil {
			return time.Time{}, err
		}
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the time %q: want seconds since 1970", epoch)
	}
	return time.Unix(seconds, 0).UTC(), nil
}
