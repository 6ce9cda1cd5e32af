// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// The prefixes of keys.
const (
	ModulesPrefix   = "modules/"
	ProvidersPrefix = "providers/"
	MirrorPrefix    = "mirror/providers/"
	OwnPrefix       = "yuba/"
)

// moduleSuffix is the only archive format that boring-registry writes by default.
const moduleSuffix = ".tar.gz"

// The names that OpenTofu accepts in the source of a module, in lower case only: two that differ in
// case would be one directory on some machines. See
// https://opentofu.org/docs/internals/module-registry-protocol/.
var (
	plainName   = regexp.MustCompile(`^[0-9a-z]([0-9a-z_-]{0,62}[0-9a-z])?$`)
	plainSystem = regexp.MustCompile(`^[0-9a-z]{1,64}$`)
)

// Module is the name of a module.
type Module struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	System    string `json:"system"`
}

// String returns NAMESPACE/NAME/SYSTEM.
func (m Module) String() string { return m.Namespace + "/" + m.Name + "/" + m.System }

// ParseModule parses NAMESPACE/NAME/SYSTEM.
func ParseModule(text string) (Module, error) {
	parts := strings.Split(text, "/")
	if len(parts) != 3 {
		return Module{}, fmt.Errorf("the module %q: expected NAMESPACE/NAME/SYSTEM, such as acme/vpc/aws", shorten.Cut(text, 80))
	}
	m := Module{parts[0], parts[1], parts[2]}
	for i, what := range []string{"namespace", "name"} {
		if !plainName.MatchString(parts[i]) {
			return Module{}, fmt.Errorf("the %s %q of a module: expected at most 64 lower-case letters, digits, - and _, and a letter or digit first and last", what, shorten.Cut(parts[i], 80))
		}
	}
	if !plainSystem.MatchString(m.System) {
		return Module{}, fmt.Errorf("the system %q of a module: expected lower-case letters and digits, such as aws", shorten.Cut(m.System, 80))
	}
	return m, nil
}

// ParseVersion parses a version of a module or provider as registries have them: three numbers, and
// perhaps a pre-release, without "v" and without build metadata, in which versions cannot differ.
func ParseVersion(text string) (*semver.Version, error) {
	v, err := semver.StrictNewVersion(text)
	if err != nil || v.Metadata() != "" || v.String() != text {
		return nil, fmt.Errorf("the version %q: expected three numbers such as 1.2.0, or a pre-release such as 1.2.0-rc1", shorten.Cut(text, 80))
	}
	return v, nil
}

// ModuleVersion is one version of a module.
type ModuleVersion struct {
	Module
	Version string `json:"version"`
}

// String returns NAMESPACE/NAME/SYSTEM@VERSION.
func (v ModuleVersion) String() string { return v.Module.String() + "@" + v.Version }

// ParseModuleVersion parses NAMESPACE/NAME/SYSTEM@VERSION.
func ParseModuleVersion(text string) (ModuleVersion, error) {
	name, version, ok := strings.Cut(text, "@")
	if !ok {
		return ModuleVersion{}, fmt.Errorf("the module %q: expected a version, NAMESPACE/NAME/SYSTEM@1.2.0", shorten.Cut(text, 80))
	}
	m, err := ParseModule(name)
	if err != nil {
		return ModuleVersion{}, err
	}
	_, err = ParseVersion(version)
	return ModuleVersion{m, version}, err
}

// Key is the key of the archive.
func (v ModuleVersion) Key() string {
	return fmt.Sprintf("%s%s/%s-%s-%s-%s%s", ModulesPrefix, v.Module, v.Namespace, v.Name, v.System, v.Version, moduleSuffix)
}

// OwnKey is the key of what the registry knows of the version.
func (v ModuleVersion) OwnKey() string {
	return OwnPrefix + ModulesPrefix + v.Module.String() + "/" + v.Version + ".json"
}

// ModuleOfKey returns the version whose archive has the key; false for any other key.
func ModuleOfKey(key string) (ModuleVersion, bool) {
	parts := strings.Split(strings.TrimPrefix(key, ModulesPrefix), "/")
	if !strings.HasPrefix(key, ModulesPrefix) || len(parts) != 4 {
		return ModuleVersion{}, false
	}
	v := ModuleVersion{Module: Module{parts[0], parts[1], parts[2]}}
	text, ok := strings.CutPrefix(parts[3], strings.Join(parts[:3], "-")+"-")
	if !ok {
		return ModuleVersion{}, false
	}
	if v.Version, ok = strings.CutSuffix(text, moduleSuffix); !ok {
		return ModuleVersion{}, false
	}
	v, err := ParseModuleVersion(v.String())
	return v, err == nil && v.Key() == key
}
