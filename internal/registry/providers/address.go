// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// Address is the address of a provider in a registry.
type Address struct {
	Host, Namespace, Type string
}

// String returns the full address, such as "registry.opentofu.org/hashicorp/time".
func (a Address) String() string { return a.Host + "/" + a.Namespace + "/" + a.Type }

// Short omits the host if it is one of the two default ones.
func (a Address) Short() string {
	if a.Host == hostTofu || a.Host == hostTerraform {
		return a.Namespace + "/" + a.Type
	}
	return a.String()
}

const (
	hostTofu      = "registry.opentofu.org"
	hostTerraform = "registry.terraform.io"
)

// DefaultHost returns the registry of a tool, "tofu" or "terraform", for providers whose source has
// no host.
func DefaultHost(tool string) string {
	if tool == "terraform" {
		return hostTerraform
	}
	return hostTofu
}

// Addresses become paths, so only plain ASCII names are accepted: other names are left to the tool.
var (
	plainHost = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*(:[1-9][0-9]{0,4})?$`)
	plainName = regexp.MustCompile(`^[a-z0-9]([a-z0-9_-]{0,62}[a-z0-9])?$`)
)

// ParseAddress parses a source as programs and lock files write it. It returns an error if the
// source is invalid or not supported by this package.
func ParseAddress(source, defaultHost string) (Address, error) {
	parts := strings.Split(strings.ToLower(source), "/")
	a := Address{Host: defaultHost, Namespace: "hashicorp"}
	switch len(parts) {
	case 1:
		a.Type = parts[0]
	case 2:
		a.Namespace, a.Type = parts[0], parts[1]
	case 3:
		a.Host, a.Namespace, a.Type = parts[0], parts[1], parts[2]
	}
	if len(source) > 300 || !plainHost.MatchString(a.Host) || strings.Contains(a.Host, "xn--") || !plainName.MatchString(a.Namespace) || !plainName.MatchString(a.Type) {
		return Address{}, fmt.Errorf("read the source %q of a provider: it does not have the form HOST/NAMESPACE/TYPE", shortened(source))
	}
	return a, nil
}

func shortened(s string) string {
	if len(s) > 100 {
		return s[:100] + "…"
	}
	return s
}

var (
	plainVersion    = regexp.MustCompile(`^[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}(-[0-9A-Za-z.-]{1,64})?(\+[0-9A-Za-z.-]{1,64})?$`)
	plainConstraint = regexp.MustCompile(`^\s*(=|!=|>=|<=|>|<|~>)?\s*v?[0-9]{1,9}(\.[0-9]{1,9}){0,2}(-[0-9A-Za-z.-]{1,64})?(\+[0-9A-Za-z.-]{1,64})?\s*$`)
	exactConstraint = regexp.MustCompile(`^\s*=?\s*((?:0|[1-9][0-9]{0,8})\.(?:0|[1-9][0-9]{0,8})\.(?:0|[1-9][0-9]{0,8})(-[0-9A-Za-z.-]{1,64})?)\s*$`)
)

// maxConstraints limits the constraints of a tree of modules.
const maxConstraints = 100

// Constraints are version constraints in one text, in their original order.
type Constraints string

// ParseConstraints joins constraints. It returns an error if one is not plain.
func ParseConstraints(list []string) (Constraints, error) {
	var all []string
	for _, text := range list {
		for part := range strings.SplitSeq(text, ",") {
			if !plainConstraint.MatchString(part) || len(all) == maxConstraints {
				return "", fmt.Errorf("read the constraint %q on versions of a provider: it does not have the form \"~> 1.2\"", shortened(text))
			}
			all = append(all, shorten.Line(part))
		}
	}
	return Constraints(strings.Join(all, ", ")), nil
}

// Exact returns the version that the constraints name exactly; else "".
func (c Constraints) Exact() string {
	exact := ""
	for part := range strings.SplitSeq(string(c), ", ") {
		m := exactConstraint.FindStringSubmatch(part)
		if m == nil || exact != "" && exact != m[1] {
			return ""
		}
		exact = m[1]
	}
	return exact
}

// platform returns the name of this platform in paths.
func platform() string { return runtime.GOOS + "_" + runtime.GOARCH }
