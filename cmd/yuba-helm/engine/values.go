// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/strvals"
	"sigs.k8s.io/yaml"

	"github.com/yuba-dev/yuba/internal/gitops/releases/wire"
)

// merge composes values, as Flux does. Errors name the part, and quote nothing of it.
func merge(parts []wire.Values) (map[string]any, error) {
	values := map[string]any{}
	for _, part := range parts {
		if part.TargetPath != "" {
			if err := set(values, part); err != nil {
				return nil, failed(wire.FailedValues, "%s cannot be set at the path %s: the path or the value is invalid", part.Source, part.TargetPath)
			}
			continue
		}
		var more map[string]any
		if err := yaml.Unmarshal(part.Data, &more); err != nil {
			return nil, failed(wire.FailedValues, "%s is not a YAML document with a map of values%s", part.Source, position(err))
		}
		values = loader.MergeMaps(values, more)
	}
	return values, nil
}

// set sets one value at a path, as "helm --set", "--set-string" for a quoted one, or "--set-literal".
func set(values map[string]any, part wire.Values) error {
	text := string(part.Data)
	if part.Literal {
		return strvals.ParseLiteralInto(part.TargetPath+"="+text, values)
	}
	for _, quote := range []string{`"`, "'"} {
		if len(text) > 1 && strings.HasPrefix(text, quote) && strings.HasSuffix(text, quote) {
			return strvals.ParseIntoString(part.TargetPath+"="+strings.Trim(text, quote), values)
		}
	}
	return strvals.ParseInto(part.TargetPath+"="+text, values)
}

// position returns the line of a YAML error, which may quote the text.
func position(err error) string {
	_, rest, ok := strings.Cut(err.Error(), "line ")
	if !ok {
		return ""
	}
	var line int
	if _, err := fmt.Sscanf(rest, "%d", &line); err != nil {
		return ""
	}
	return fmt.Sprintf(" (line %d)", line)
}

// digest is equal for equal values. Empty values of any kind are equal.
func digest(values map[string]any) string {
	if len(values) == 0 {
		values = map[string]any{}
	}
	data, err := json.Marshal(values) // sorts keys
	if err != nil {
		data = nil
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}
