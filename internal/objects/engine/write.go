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
	// Replace puts the manifest in the place of the object. Its finalizers and foreign owner
	// references stay.
	Replace Strategy = "replace"
)

// Ownership says whose objects are, as one owner marks them in one cluster. It compares and asks no
// API.
type Ownership interface {
	// Standing is what an object says about the owner. manifest is what the object is to be.
	Standing(live, manifest metav1.Object) Standing
	// Rival is who else has an object that does not say it is the owner's. was is true for an
	// object that was the owner's before, and may only have lost its marks.
	Rival(live, manifest metav1.Object, was bool) Rival
	// Adopt is the merge patch that makes an object say whose it is as its manifest does, and
	// changes nothing else.
	Adopt(live, manifest metav1.Object) map[string]any
	// References are the owner references of the manifest, and those of the object to other owners.
	References(live, manifest metav1.Object) []metav1.OwnerReference
}

// Standing is what an object says about its owner.
type Standing struct {
	// Mine: it is the owner's. Marked: it says so exactly as the manifest does.
	Mine, Marked bool
	// Made: it was created once, and must not be written again.
	Made bool
}

// Rival is who else has an object.
type Rival struct {
	// Name is what messages call it; empty for nobody.
	Name string
	// Firm: force does not help. A controller would make the object what it was.
	Firm bool
	// Seated: it has the owner reference of the controller, of which there is one. Nothing can be
	// applied before that is gone.
	Seated bool
}

// Write asks for one object to be written.
type Write struct {
	// Owner claims the object first; without a name nobody does.
	Owner Owner
	// Manifest is what the object is to be, marks included. It is not changed.
	Manifest  *unstructured.Unstructured
	Ownership Ownership
	Strategy  Strategy
	// Force takes the object, and fields that others own, from them.
	Force bool
	// Once creates the object, or adopts it, and never changes it again.
	Once bool
	// Ignore returns a manifest without the fields of a live object that others may change; nil
	// when they may change none.
	Ignore func(manifest, live *unstructured.Unstructured) (*unstructured.Unstructured, error)
	// Live is the object in the watch; nil for none. Left says that it exists nevertheless, as it
	// was left.
	Live *metav1.PartialObjectMetadata
	Left bool
	// Was is the uid of the object that was the owner's when it was last seen; empty for none.
	Was types.UID
	// First is called between claim and write; nil for nothing. Write returns its errors unchanged.
	First func(context.Context) error
}

// ConflictError says that somebody else has an object.
type ConflictError struct {
	Holder string
	// Claimed: the holder is another owner of this engine. Try again once [Engine.Free] says so.
	Claimed bool
}

func (e *ConflictError) Error() string { return "it belongs to " + e.Holder }

// Write writes one object, and returns it as the API answers. If it knows that the object is the
// owner's, it does not read it first. It returns a *ConflictError if somebody else has the object.
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

// writing is one object on its way.
type writing struct {
	Write
	cluster *Cluster
	manager string
	// exists is true if the object is known to exist; standing is then what it says about its
	// owner.
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

// look finds out whose the object is, and takes it if it may be taken.
func (w *writing) look(ctx context.Context) error {
	m, err := w.cluster.Metadata(ctx, refOf(w.Manifest))
	if apierrors.IsNotFound(err) {
		w.exists, w.standing = false, Standing{}
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for it: %w", err)
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
		// If somebody has created the object, the API refuses this version. That saves a request
		// for each new object.
		u.SetResourceVersion(noVersion)
	case w.standing.Mine || w.Force:
		options = append(options, client.ForceOwnership)
	}
	return u, w.cluster.apply(ctx, u, options...)
}

// wanted is the manifest without what others may say of the object: ignored fields, and approvals
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

// noVersion is the version that no object has: it was that of the store when there was nothing in
// it.
const noVersion = "1"

// isThere tells whether an object could not be created because it exists.
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
