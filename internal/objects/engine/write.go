// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/objects/approval"
	"github.com/yuba-dev/yuba/internal/objects/claims"
	"github.com/yuba-dev/yuba/internal/objects/owned"
)

// Strategy is how an object is written.
type Strategy string

const (
	// Apply is server-side apply; the zero Strategy, too.
	Apply Strategy = "apply"
	// Merge is a strategic merge patch, or a merge patch for kinds without strategies. Fields of
	// others stay.
	Merge Strategy = "merge"
	// Replace replaces the object by the manifest. Its finalizers and foreign owner references
	// stay.
	Replace Strategy = "replace"
)

// Ownership reads and writes the marks of one owner on objects of one cluster. It makes no
// requests.
type Ownership interface {
	// Standing reads the owner's marks on an object. manifest is the desired object.
	Standing(live, manifest metav1.Object) Standing
	// Rival returns the other holder of an object without the owner's marks. was is true for an
	// object that was the owner's before, and may only have lost its marks.
	Rival(live, manifest metav1.Object, was bool) Rival
	// Adopt returns the merge patch that adds the owner's marks of the manifest to an object, and
	// changes nothing else.
	Adopt(live, manifest metav1.Object) map[string]any
	// References returns the owner references of the manifest, and those of the object to other
	// owners.
	References(live, manifest metav1.Object) []metav1.OwnerReference
}

// Standing describes the owner's marks on an object.
type Standing struct {
	// Mine: it is the owner's. Marked: its marks are exactly those of the manifest.
	Mine, Marked bool
	// Made: it was created once, and must not be written again.
	Made bool
}

// Rival is another holder of an object.
type Rival struct {
	// Name names the holder in messages; empty if there is none.
	Name string
	// Firm: force does not help, because a controller would revert the change.
	Firm bool
	// Seated: it has the owner reference of the controller. An object has only one, so nothing can
	// be applied before that is removed.
	Seated bool
}

// Write is one object to write.
type Write struct {
	// Owner claims the object first; without a name there is no claim.
	Owner Owner
	// Manifest is the desired object, including marks. It is not changed.
	Manifest  *unstructured.Unstructured
	Ownership Ownership
	Strategy  Strategy
	// Force takes the object, and fields that others own.
	Force bool
	// Once creates the object, or adopts it, and never changes it again.
	Once bool
	// Ignore returns a manifest without the fields of a live object that others may change; nil if
	// there are none.
	Ignore func(manifest, live *unstructured.Unstructured) (*unstructured.Unstructured, error)
	// Live is the object in the watch; nil for none. Left: even then it exists, unchanged since the
	// last write.
	Live *metav1.PartialObjectMetadata
	Left bool
	// Was is the uid of the object that last was the owner's; empty for none.
	Was types.UID
	// First is called between claim and write; nil for nothing. Write returns its errors unchanged.
	First func(context.Context) error
}

// ConflictError means that another owner has an object.
type ConflictError struct {
	Holder string
	// Claimed: the holder is another owner of this engine. Retry once [Engine.Free] returns true.
	Claimed bool
}

func (e *ConflictError) Error() string { return "it belongs to " + e.Holder }

// Write writes one object, and returns the API's answer. It does not read an object first that is
// known to be the owner's. It returns a *ConflictError if another owner has the object.
func (e *Engine) Write(ctx context.Context, c *Cluster, req Write) (*unstructured.Unstructured, error) {
	w := &writing{Write: req, cluster: c, manager: e.policy.Manager}
	if w.Live != nil {
		w.exists, w.standing = true, w.Ownership.Standing(w.Live, w.Manifest)
	} else if w.Left {
		w.exists, w.standing.Mine = true, true
	}
	if w.Owner.Name != "" {
		bid := claims.Bid{Exists: e.owners.Exists}
		if w.Force || w.Live != nil && w.standing.Mine {
			bid.Force = claims.Always
		}
		if other := e.claims.Take(c.Place(owned.IDOf(w.Manifest)), w.Owner, bid); other != nil {
			return nil, &ConflictError{Holder: e.policy.Kind + " " + other.String(), Claimed: true}
		}
	}
	if w.First != nil {
		if err := w.First(ctx); err != nil {
			return nil, err
		}
	}
	return w.do(ctx)
}

// writing is one object during its write.
type writing struct {
	Write
	cluster *Cluster
	manager string
	// exists is true if the object is known to exist; standing then describes the owner's marks.
	exists   bool
	standing Standing
}

func (w *writing) do(ctx context.Context) (*unstructured.Unstructured, error) {
	adopts := w.Live != nil && w.Once && (w.standing.Mine || w.standing.Made)
	if w.exists && !w.standing.Mine || adopts {
		if err := w.look(ctx); err != nil {
			return nil, w.explain(err)
		}
	}
	written, err := w.send(ctx)
	if !w.exists && isThere(err) {
		if err = w.look(ctx); err == nil {
			written, err = w.send(ctx)
		}
	}
	if err != nil && !w.standing.Mine && conflictingFields(err) != nil {
		return nil, &ConflictError{Holder: managersOf(err)}
	}
	if err != nil {
		return nil, w.explain(err)
	}
	if !w.Ownership.Standing(written, w.Manifest).Marked {
		// It was left behind, or created once before.
		if err := w.adopt(ctx, written); err != nil {
			return nil, w.explain(fmt.Errorf("take it back: %w", err))
		}
	}
	return written, nil
}

// look finds the object's holder, and takes the object if that is permitted.
func (w *writing) look(ctx context.Context) error {
	m, err := w.cluster.Metadata(ctx, refOf(w.Manifest))
	if apierrors.IsNotFound(err) {
		w.exists, w.standing = false, Standing{}
		return nil
	}
	if err != nil {
		return fmt.Errorf("read it: %w", err)
	}
	w.exists, w.standing = true, w.Ownership.Standing(m, w.Manifest)
	if w.standing.Mine {
		return nil
	}
	was := w.Was != "" && w.Was == m.UID
	rival := w.Ownership.Rival(m, w.Manifest, was)
	if rival.Firm || rival.Name != "" && !w.Force {
		return &ConflictError{Holder: rival.Name}
	}
	w.standing.Mine = was && rival.Name == ""
	if !rival.Seated {
		return nil
	}
	if err := w.adopt(ctx, m); err != nil {
		return fmt.Errorf("take it over: %w", err)
	}
	w.standing.Mine = true
	return nil
}

func (w *writing) adopt(ctx context.Context, live client.Object) error {
	return MergePatch(ctx, w.cluster.Client, w.manager, live, w.Ownership.Adopt(live, w.Manifest))
}

func (w *writing) send(ctx context.Context) (*unstructured.Unstructured, error) {
	if w.Once && w.exists && (w.standing.Mine || w.standing.Made) {
		return w.read(ctx)
	}
	manifest, err := w.wanted(ctx)
	if err != nil {
		return nil, err
	}
	u := manifest.DeepCopy()
	if w.Strategy == Merge || w.Strategy == Replace {
		return w.change(ctx, u)
	}
	options := []client.PatchOption{client.FieldOwner(w.manager)}
	switch {
	case !w.exists:
		// If the object was created in between, the API refuses this version. This saves a request
		// for each new object.
		u.SetResourceVersion(noVersion)
	case w.standing.Mine || w.Force:
		options = append(options, client.ForceOwnership)
	}
	return u, w.cluster.apply(ctx, u, options...)
}

// wanted returns the manifest without the fields that others may set: ignored fields, and approvals
// of plans.
func (w *writing) wanted(ctx context.Context) (*unstructured.Unstructured, error) {
	manifest, ignores := w.Manifest, w.Ignore != nil && !w.Once
	concerns := approval.Concerns(manifest) && w.Strategy != Replace
	var live *unstructured.Unstructured
	if w.exists && (ignores || concerns) {
		var err error
		if live, err = w.read(ctx); err != nil {
			return nil, err
		}
	}
	if live != nil && ignores {
		var err error
		if manifest, err = w.Ignore(manifest, live); err != nil {
			return nil, err
		}
	}
	if concerns {
		manifest = approval.Omit(manifest, live)
	}
	return manifest, nil
}

// noVersion is a version that no object has: the version of the empty store.
const noVersion = "1"

// isThere reports whether an object could not be created because it exists.
func isThere(err error) bool { return apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) }

func (w *writing) read(ctx context.Context) (*unstructured.Unstructured, error) {
	live, err := w.cluster.read(ctx, w.Manifest)
	if err != nil {
		return nil, fmt.Errorf("read it: %w", err)
	}
	return live, nil
}

// change creates, merges or replaces the object.
func (w *writing) change(ctx context.Context, u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if !w.exists {
		return u, w.cluster.Client.Create(ctx, u, client.FieldOwner(w.manager))
	}
	live, err := w.read(ctx)
	if err != nil {
		return nil, err
	}
	references := w.Ownership.References(live, u)
	if w.Strategy == Merge {
		return w.merge(ctx, u, references)
	}
	u = approval.CarryOver(u, live)
	u.SetResourceVersion(live.GetResourceVersion())
	u.SetUID(live.GetUID())
	u.SetFinalizers(live.GetFinalizers())
	u.SetOwnerReferences(references)
	return u, w.cluster.Client.Update(ctx, u, client.FieldOwner(w.manager))
}

func (w *writing) merge(ctx context.Context, u *unstructured.Unstructured, references []metav1.OwnerReference) (*unstructured.Unstructured, error) {
	kind := types.MergePatchType
	if clientgoscheme.Scheme.Recognizes(u.GroupVersionKind()) {
		kind = types.StrategicMergePatchType
	} else if len(references) > 0 {
		u.SetOwnerReferences(references) // a merge patch replaces lists
	}
	u.SetFinalizers(nil)
	content, err := json.Marshal(u.Object)
	if err != nil {
		return nil, err
	}
	return u, w.cluster.Client.Patch(ctx, u, client.RawPatch(kind, content), client.FieldOwner(w.manager))
}
