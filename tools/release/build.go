// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// build compiles the programs for a platform, without paths, VCS information and C libraries.
func (r *release) build(ctx context.Context, p platform) (string, error) {
	dir := filepath.Join(r.buildDir(), p.os+"_"+p.arch)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	fmt.Fprintf(r.news, "Building for %s; the first time that takes some minutes\n", p)
	args := []string{"build", "-trimpath", "-buildvcs=false", "-tags", r.tags, "-ldflags", r.flags, "-o", dir + string(filepath.Separator)}
	for _, name := range programs {
		args = append(args, "./cmd/"+name)
	}
	cmd := exec.CommandContext(ctx, goProgram(), args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.root, r.news, r.news
	cmd.Env = buildEnvironment(os.Environ(), p)
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go build: %w", err)
	}
	return dir, nil
}

// buildDir is the directory of built programs.
func (r *release) buildDir() string { return filepath.Join(r.out, "yuba_build") }

func goProgram() string {
	if name := os.Getenv("GO"); name != "" {
		return name
	}
	return "go"
}

// buildEnvironment is our environment without variables that change the bytes, and without the key.
func buildEnvironment(ours []string, p platform) []string {
	env := make([]string, 0, len(ours)+5)
	for _, variable := range ours {
		name, _, _ := strings.Cut(variable, "=")
		if name != keyVariable && !strings.HasPrefix(name, "CGO_") && !strings.HasPrefix(name, "GOEXPERIMENT") && !strings.HasPrefix(name, "GOFIPS") {
			env = append(env, variable)
		}
	}
	return append(env, "GOOS="+p.os, "GOARCH="+p.arch, "GOAMD64=v1", "GOARM64=v8.0", "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off")
}
