// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// KeyVariable has the key that signs releases. No compiler gets it.
const KeyVariable = "YUBA_SIGNING_KEY"

// Programs are packages of a Go module that are compiled together.
type Programs struct {
	// Module is the module's directory.
	Module   string
	Packages []string
	// Tags and Flags are the build tags and the linker's flags.
	Tags, Flags string
	News        io.Writer
}

// Compile compiles the programs into a directory, without paths, VCS information and C libraries.
func (b Programs) Compile(ctx context.Context, p Platform, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	args := append([]string{
		"build", "-trimpath", "-buildvcs=false", "-tags", b.Tags, "-ldflags", b.Flags, "-o", dir + string(filepath.Separator),
	}, b.Packages...)
	cmd := exec.CommandContext(ctx, goProgram(), args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = b.Module, b.News, b.News
	cmd.Env = buildEnvironment(os.Environ(), p)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go build: %w", err)
	}
	return nil
}

func goProgram() string {
	if name := os.Getenv("GO"); name != "" {
		return name
	}
	return "go"
}

// buildEnvironment is our environment without variables that change the bytes, and without the key.
func buildEnvironment(ours []string, p Platform) []string {
	env := make([]string, 0, len(ours)+7)
	for _, variable := range ours {
		name, _, _ := strings.Cut(variable, "=")
		if name != KeyVariable && !strings.HasPrefix(name, "CGO_") && !strings.HasPrefix(name, "GOEXPERIMENT") && !strings.HasPrefix(name, "GOFIPS") {
			env = append(env, variable)
		}
	}
	return append(env, "GOOS="+p.OS, "GOARCH="+p.Arch, "GOAMD64=v1", "GOARM64=v8.0", "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off")
}
