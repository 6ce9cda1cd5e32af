// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tofutest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// ProviderVersion is the version of the provider of test/provider in mirrors.
const ProviderVersion = "0.1.0"

// BuildProvider builds the provider of test/provider into a provider mirror, as yuba-dev/yubatest
// of OpenTofu's registry. It appears there atomically.
func BuildProvider(mirror string) error {
	root, err := repositoryRoot()
	if err != nil {
		return fmt.Errorf("build the test provider: %w", err)
	}
	source := filepath.Join(root, "test", "provider")
	building := mirror + ".building"
	program := filepath.Join(building, ProviderVersion, runtime.GOOS+"_"+runtime.GOARCH, "terraform-provider-yubatest_v"+ProviderVersion)
	build := exec.Command("go", "build", "-C", source, "-buildvcs=false", "-o", program, ".")
	build.Env = append(build.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the test provider: %w\n%s", err, out)
	}
	mirrored := filepath.Join(mirror, "registry.opentofu.org", "yuba-dev", "yubatest")
	if err := os.MkdirAll(filepath.Dir(mirrored), 0o755); err != nil {
		return fmt.Errorf("build the test provider: %w", err)
	}
	if err := os.Rename(building, mirrored); err != nil {
		return fmt.Errorf("build the test provider: %w", err)
	}
	return nil
}
