// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// OpenOutputs lists the keys of a Secret with outputs that are not declared as sensitive: masking
// them would make errors and plans unreadable. It is stored in an annotation of the Secret.
type OpenOutputs struct {
	// Open are the keys whose values may be shown to everyone who may read the stack.
	Open []string `json:"open"`
	// Closed are the keys with values that the program does not declare as sensitive, but that
	// contain a secret of the stack.
	Closed []string `json:"closed,omitempty"`
	// Digest covers the values of the open keys, because others may change them.
	Digest string `json:"digest"`
}

// Annotation returns the annotation for a Secret with that data.
func (o OpenOutputs) Annotation(data map[string][]byte) string {
	slices.Sort(o.Open)
	slices.Sort(o.Closed)
	o.Digest = digestOfKeys(data, o.Open)
	text, err := json.Marshal(o)
	if err != nil {
		panic(fmt.Sprintf("write names as JSON: %v. This is a bug in Yuba.", err))
	}
	return string(text)
}

// OpenOutputsOf parses the annotation of a Secret. ok is false if there is none, or if the values
// have changed since.
func OpenOutputsOf(s *corev1.Secret) (o OpenOutputs, ok bool) {
	if json.Unmarshal([]byte(s.Annotations[infrav1.OpenOutputsAnnotation]), &o) != nil || o.Digest == "" || o.Digest != digestOfKeys(s.Data, o.Open) {
		return OpenOutputs{}, false
	}
	return o, true
}

func digestOfKeys(data map[string][]byte, keys []string) string {
	h := sha256.New()
	for _, key := range keys {
		fmt.Fprintf(h, "%q %q\n", key, data[key])
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// isOpen reports whether a key's value is known not to be secret. The types of values never are.
func (o *object) isOpen(key string) bool {
	if o.open == nil {
		return false
	}
	of, isType := strings.CutSuffix(key, typeSuffix)
	_, there := o.data[of]
	return o.open[key] || isType && there
}
