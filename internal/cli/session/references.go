// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// SourceKinds are the kinds that --source may name.
var SourceKinds = []string{infrav1.SourceKindGitRepository, infrav1.SourceKindOCIRepository, infrav1.SourceKindBucket, infrav1.SourceKindExternalArtifact}

// SourceRef reads the source of --source: KIND/NAME, or KIND/NAME.NAMESPACE.
func SourceRef(cmd *cobra.Command, argument, namespace string) (map[string]any, error) {
	kind, name, ok := strings.Cut(argument, "/")
	switch {
	case argument == "":
		return nil, ui.UsageErrorf(cmd, "--source is missing: name the source of the program")
	case !ok || name == "" || !slices.Contains(SourceKinds, kind):
		return nil, ui.UsageErrorf(cmd, "--source %q: want KIND/NAME, and KIND one of %s", argument, strings.Join(SourceKinds, ", "))
	}
	source := map[string]any{"kind": kind, "name": name}
	// Flux's way to name another namespace.
	if at := strings.LastIndex(name, "."); at > 0 && name[at+1:] != namespace {
		source["name"], source["namespace"] = name[:at], name[at+1:]
	} else if at > 0 {
		source["name"] = name[:at]
	}
	return source, nil
}

// Dependencies reads the names of --depends-on: NAME or NAMESPACE/NAME.
func Dependencies(cmd *cobra.Command, names []string) ([]any, error) {
	var dependsOn []any
	for _, v := range names {
		namespace, name, both := strings.Cut(v, "/")
		if !both {
			namespace, name = "", v
		}
		if name == "" || both && namespace == "" {
			return nil, ui.UsageErrorf(cmd, "--depends-on %q: want NAME or NAMESPACE/NAME", v)
		}
		dependency := map[string]any{"name": name}
		if both {
			dependency["namespace"] = namespace
		}
		dependsOn = append(dependsOn, dependency)
	}
	return dependsOn, nil
}
