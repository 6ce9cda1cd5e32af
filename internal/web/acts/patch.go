// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package acts

import (
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/verbs"
	"github.com/yuba-dev/yuba/internal/web/site"
)

// manager owns the fields that people change on the page.
const manager = "yuba-web"

// attempts is how often a change is tried when the object changes in that moment: controllers write
// the status of objects all the time.
const attempts = 5

// Patch changes an object as the person.
func Patch(r *site.Request, o client.Object, c verbs.Change) error {
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return r.As.Objects.Patch(r.Context(), o, client.RawPatch(types.MergePatchType, data), client.FieldOwner(manager))
}

// Steadily does what reads an object, checks that it is as the person saw it, and changes it. It begins
// again if the object has changed in between.
func Steadily(what string, do func() (says string, err error)) (string, error) {
	for try := 1; ; try++ {
		says, err := do()
		switch {
		case !apierrors.IsConflict(err):
			return says, err
		case try == attempts:
			return "", site.Conflict(fmt.Sprintf("Nothing was done: %s keeps changing.", what), "Try again.")
		}
	}
}
