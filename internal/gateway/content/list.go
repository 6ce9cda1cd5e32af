// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import "encoding/json"

// List is a list in a response. An empty one is [] and never null, so that programs can go over it.
type List[T any] []T

// MarshalJSON implements json.Marshaler.
func (l List[T]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]T(l))
}
