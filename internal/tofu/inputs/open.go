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

// OpenOutputs says which keys of a Secret with outputs hold no secret: what the program does not declare as sensitive travels through
// a Secret as well, and hiding it would make errors and plans unreadable. It is kept in an annotation of the Secret.
type OpenOutputs struct {
	// Open are the keys whose values everybody may see who sees the stack.
	Open []string `json:"open"`
	// Closed are the keys whose values the program does not declare as sensitive, although there is a secret of the stack in them.
	Closed []string `json:"closed,omitempty"`
	// Digest covers the values of the open keys: somebody else may put other values there.
	Digest string `json:"digest"`
}

// Annotation is what the Secret with that data is to be annotated with.
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

// OpenOutputsOf reads the annotation of a Secret. It is not ok when there is none, or when it is not about these values.
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

// isOpen tells whether the value of a key is known to be no secret. What says the type of another key never is one.
func (o *object) isOpen(key string) bool {
	if o.open == nil {
		return false
	}
	of, isType := strings.CutSuffix(key, typeSuffix)
	_, there := o.data[of]
	return o.open[key] || isType && there
}
