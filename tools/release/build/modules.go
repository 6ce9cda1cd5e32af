// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"io"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
)

// Module is a Go module in a program.
type Module struct {
	Path, Version string
	// Sum is as in go.sum; empty for the standard library and for modules of this repository.
	Sum string
}

// PackageURL is the module's package URL.
func (m Module) PackageURL() string {
	return "pkg:golang/" + strings.ReplaceAll(url.PathEscape(m.Path), "%2F", "/") + "@" + url.PathEscape(m.Version)
}

// Modules lists the modules in a program besides its own: first the standard library.
func Modules(program string) ([]Module, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, fmt.Errorf("read the modules of %s: %w", program, err)
	}
	var modules []Module
	for _, m := range append([]*debug.Module{{Path: "std", Version: info.GoVersion}}, info.Deps...) {
		if m.Replace != nil {
			m = m.Replace
		}
		modules = append(modules, Module{m.Path, m.Version, m.Sum})
	}
	return modules, nil
}

// FileSum is the SHA-256 checksum of a file.
func FileSum(path string) ([]byte, error) {
	content, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	hash := sha256.New()
	_, err = io.Copy(hash, content)
	return hash.Sum(nil), err
}
