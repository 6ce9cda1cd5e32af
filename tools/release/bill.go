// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/yuba-dev/yuba/tools/release/build"
)

// writeBill writes a bill of materials for a platform's programs: the modules that each of them
// contains, from their build information.
func (r *release) writeBill(path string, p build.Platform, dir string) error {
	bom := cyclonedx.NewBOM()
	yuba := component(build.Module{Path: "github.com/yuba-dev/yuba", Version: r.version.Name})
	yuba.Type, yuba.Name, yuba.Version, yuba.BOMRef = cyclonedx.ComponentTypeApplication, "yuba", r.version.Plain, "yuba"
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
		program.Version = r.version.Plain
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
	modules, err := build.Modules(path)
	if err != nil {
		return cyclonedx.Component{}, nil, err
	}
	sum, err := build.FileSum(path)
	if err != nil {
		return cyclonedx.Component{}, nil, err
	}
	name := filepath.Base(path)
	program := cyclonedx.Component{
		BOMRef: "program:" + name, Type: cyclonedx.ComponentTypeApplication, Name: name,
		Hashes: &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: fmt.Sprintf("%x", sum)}},
	}
	needs := []string{}
	for _, m := range modules {
		c := component(m)
		if m.Sum != "" {
			c.Properties = &[]cyclonedx.Property{{Name: "go:sum", Value: m.Sum}}
		}
		components[c.BOMRef] = c
		needs = append(needs, c.BOMRef)
	}
	slices.Sort(needs)
	return program, slices.Compact(needs), nil
}

// component is a Go module as a component.
func component(m build.Module) cyclonedx.Component {
	purl := m.PackageURL()
	return cyclonedx.Component{BOMRef: purl, Type: cyclonedx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: purl}
}

// serial is a number for a bill that is the same for the same programs: a UUID from their checksum.
func serial(sum []byte) string {
	id := sum[:16]
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // version 8: custom
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
