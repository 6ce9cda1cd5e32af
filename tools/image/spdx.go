// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/tools/release/build"
)

// The parts of SPDX 2.3 that bills of materials have. spdx.github.io/spdx-spec/v2.3 explains the
// fields.
type (
	spdxDocument struct {
		Version       string             `json:"spdxVersion"`
		License       string             `json:"dataLicense"`
		ID            string             `json:"SPDXID"`
		Name          string             `json:"name"`
		Namespace     string             `json:"documentNamespace"`
		Creation      spdxCreation       `json:"creationInfo"`
		Packages      []spdxPackage      `json:"packages"`
		Relationships []spdxRelationship `json:"relationships"`
	}
	spdxCreation struct {
		Created  string   `json:"created"`
		Creators []string `json:"creators"`
	}
	spdxPackage struct {
		ID         string          `json:"SPDXID"`
		Name       string          `json:"name"`
		Version    string          `json:"versionInfo,omitempty"`
		Purpose    string          `json:"primaryPackagePurpose,omitempty"`
		Download   string          `json:"downloadLocation"`
		Analyzed   bool            `json:"filesAnalyzed"`
		Checksums  []spdxChecksum  `json:"checksums,omitempty"`
		References []spdxReference `json:"externalRefs,omitempty"`
	}
	spdxChecksum struct {
		Algorithm string `json:"algorithm"`
		Value     string `json:"checksumValue"`
	}
	spdxReference struct {
		Category string `json:"referenceCategory"`
		Type     string `json:"referenceType"`
		Locator  string `json:"referenceLocator"`
	}
	spdxRelationship struct {
		From string `json:"spdxElementId"`
		Kind string `json:"relationshipType"`
		To   string `json:"relatedSpdxElement"`
	}
)

// spdxBill is a bill of materials that is being written.
type spdxBill struct {
	packages  map[string]spdxPackage
	relations []spdxRelationship
}

// writeBill writes an image's bill of materials: the packages of Debian, our programs, and the
// modules that each of them contains.
func (b *builder) writeBill(of built, packages []debianPackage, dir string, programs []string) ([]byte, error) {
	digest, err := of.Digest()
	if err != nil {
		return nil, err
	}
	bill := spdxBill{packages: map[string]spdxPackage{}}
	locator := "pkg:oci/" + of.image.name + "@" + url.QueryEscape(digest.String()) + "?arch=" + of.platform.Arch +
		"&repository_url=" + url.QueryEscape(b.repository+"/"+of.image.name) + "&tag=" + url.QueryEscape(b.version.Name)
	root := bill.add("", "CONTAINS", spdxPackage{
		ID: "SPDXRef-image", Name: of.image.name, Version: b.version.Name, Purpose: "CONTAINER",
		Checksums: []spdxChecksum{{"SHA256", digest.Hex}}, References: packageURL(locator),
	})
	bill.relations = append(bill.relations, spdxRelationship{"SPDXRef-DOCUMENT", "DESCRIBES", root})
	for _, p := range packages {
		locator := "pkg:deb/debian/" + p.name + "@" + url.QueryEscape(p.version) + "?arch=" + p.arch + "&distro=debian-" + debianVersion
		bill.add(root, "CONTAINS", spdxPackage{ID: spdxID("deb", p.name, p.version), Name: p.name, Version: p.version, References: packageURL(locator)})
	}
	for _, name := range programs {
		if err := bill.addProgram(root, filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	return bill.document(spdxDocument{
		Name:      fmt.Sprintf("%s/%s:%s %s", b.repository, of.image.name, b.version.Name, of.platform),
		Namespace: "https://github.com/yuba-dev/yuba/sbom/" + of.image.name + "/" + digest.Hex,
		Creation:  spdxCreation{b.date.Format(time.RFC3339), []string{"Organization: The Yuba Authors", "Tool: yuba-tools-image"}},
	})
}

// addProgram adds a program and its modules.
func (s *spdxBill) addProgram(root, path string) error {
	modules, err := build.Modules(path)
	if err != nil {
		return err
	}
	sum, err := build.FileSum(path)
	if err != nil {
		return err
	}
	name := filepath.Base(path)
	program := s.add(root, "CONTAINS", spdxPackage{
		ID: spdxID("program", name), Name: name, Purpose: "APPLICATION", Checksums: []spdxChecksum{{"SHA256", fmt.Sprintf("%x", sum)}},
	})
	for _, m := range modules {
		s.add(program, "DEPENDS_ON", spdxPackage{ID: spdxID("go", m.Path, m.Version), Name: m.Path, Version: m.Version, References: packageURL(m.PackageURL())})
	}
	return nil
}

// add adds a package and its relation to another, and returns its ID.
func (s *spdxBill) add(from, kind string, p spdxPackage) string {
	p.Download = "NOASSERTION"
	s.packages[p.ID] = p
	if from != "" {
		s.relations = append(s.relations, spdxRelationship{from, kind, p.ID})
	}
	return p.ID
}

// document is the bill as JSON.
func (s *spdxBill) document(d spdxDocument) ([]byte, error) {
	d.Version, d.License, d.ID = "SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT"
	for _, p := range s.packages {
		d.Packages = append(d.Packages, p)
	}
	slices.SortFunc(d.Packages, func(a, b spdxPackage) int { return strings.Compare(a.ID, b.ID) })
	d.Relationships = s.relations
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(d)
	return text.Bytes(), err
}

func packageURL(locator string) []spdxReference {
	return []spdxReference{{"PACKAGE-MANAGER", "purl", locator}}
}

// spdxID is an identifier, which only has letters, digits, dots and dashes. The checksum tells names
// apart that differ in other characters.
func spdxID(parts ...string) string {
	name := strings.Join(parts, "-")
	clean := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-' {
			return c
		}
		return '-'
	}, name)
	if clean != name {
		clean += fmt.Sprintf("-%x", sha256.Sum256([]byte(name)))[:9]
	}
	return "SPDXRef-" + clean
}
