// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

const providerVersion = "0.1.0"

// providerIn is the path of the provider's program in a mirror.
func providerIn(mirror string) string {
	return filepath.Join(mirror, "registry.opentofu.org", "yuba-dev", "yubatest", providerVersion,
		runtime.GOOS+"_"+runtime.GOARCH, "terraform-provider-yubatest_v"+providerVersion)
}

// buildProvider builds the provider of test/provider into an unpacked mirror. The benchmark runs in
// the repository.
func (b *bench) buildProvider(ctx context.Context) (mirror string, err error) {
	mirror = b.directory("providers")
	program := providerIn(mirror)
	build := exec.CommandContext(ctx, "go", "build", "-C", filepath.Join("test", "provider"), "-buildvcs=false", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath") //nolint:forbidigo // go needs its caches
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the test provider: %w\n%s", err, out)
	}
	return mirror, nil
}
