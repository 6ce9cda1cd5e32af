// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

// writeBill writes a bill of materials for a platform's programs: the modules that each of them
// contains, from their build information.
func (r *release) writeBill(path string, p platform, dir string) error {
	bom := cyclonedx.NewBOM()
	yuba := module("github.com/yuba-dev/yuba", r.version.name)
	yuba.Type, yuba.Name, yuba.Version, yuba.BOMRef = cyclonedx.ComponentTypeApplication, "yuba", r.version.plain, "yuba"
	yuba.Licenses = &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "Apache-2.0"}}}
	bom.Metadata = &cyclonedx.Metadata{Timestamp: r.date.Format(time.RFC3339), Component: &yuba}
	properties := []cyclonedx.Property{{Name: "yuba:platform", Value: p.String()}}
	bom.Metadata.Properties = &properties

	var dependencies []cyclonedx.Dependency
	components := map[string]cyclonedx.Component{}
	identity := sha256.New()
	for _, name := range programs {
		program, needs, err := readProgram(filepath.Join(dir, name), components)
		if err != nil {
			return err
		}
		program.Version = r.version.plain
		components[program.BOMRef] = program
		dependencies = append(dependencies, cyclonedx.Dependency{Ref: program.BOMRef, Dependencies: &needs})
		fmt.Fprintln(identity, name, (*program.Hashes)[0].Value)
	}
	bom.SerialNumber = serial(identity.Sum(nil))
	bom.Dependencies = &dependencies
	list := slices.SortedFunc(maps.Values(components), func(a, b cyclonedx.Component) int { return strings.Compare(a.BOMRef, b.BOMRef) })
	bom.Components = &list
	var text bytes.Buffer
	if err := cyclonedx.NewBOMEncoder(&text, cyclonedx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).EncodeVersion(bom, cyclonedx.SpecVersion1_6); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.WriteFile(path, text.Bytes(), 0o644)
}

// readProgram is a program as a component, with references to its modules, which it adds to the
// components.
func readProgram(path string, components map[string]cyclonedx.Component) (cyclonedx.Component, []string, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return cyclonedx.Component{}, nil, fmt.Errorf("read the modules of %s: %w", path, err)
	}
	sum, err := fileSum(path)
	if err != nil {
		return cyclonedx.Component{}, nil, err
	}
	name := filepath.Base(path)
	program := cyclonedx.Component{
		BOMRef: "program:" + name, Type: cyclonedx.ComponentTypeApplication, Name: name,
		Hashes: &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: fmt.Sprintf("%x", sum)}},
	}
	needs := []string{}
	for _, m := range append([]*debug.Module{{Path: "std", Version: info.GoVersion}}, info.Deps...) {
		if m.Replace != nil {
			m = m.Replace
		}
		c := module(m.Path, m.Version)
		if m.Sum != "" {
			c.Properties = &[]cyclonedx.Property{{Name: "go:sum", Value: m.Sum}}
		}
		components[c.BOMRef] = c
		needs = append(needs, c.BOMRef)
	}
	slices.Sort(needs)
	return program, slices.Compact(needs), nil
}

// module is a Go module as a component.
func module(path, version string) cyclonedx.Component {
	purl := "pkg:golang/" + strings.ReplaceAll(url.PathEscape(path), "%2F", "/") + "@" + url.PathEscape(version)
	return cyclonedx.Component{BOMRef: purl, Type: cyclonedx.ComponentTypeLibrary, Name: path, Version: version, PackageURL: purl}
}

// serial is a number for a bill that is the same for the same programs: a UUID from their checksum.
func serial(sum []byte) string {
	id := sum[:16]
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // version 8: custom
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
