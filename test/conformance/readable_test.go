// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
)

// readableJSON reads a stack's plan as JSON from its Secret.
func (w *world) readableJSON(name string) ([]byte, error) {
	var s corev1.Secret
	if err := w.client.Get(w.Context(), w.key("tfplan-default-"+name+".json"), &s); err != nil {
		return nil, err
	}
	if s.Annotations["encoding"] != "gzip" {
		return nil, fmt.Errorf("its annotations are %v", s.Annotations)
	}
	zipped, err := gzip.NewReader(bytes.NewReader(s.Data["tfplan"]))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(zipped)
}
