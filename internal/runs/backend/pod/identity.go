// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Facts about the Pod of a bound token, see
// https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/
const (
	extraPodName  = "authentication.kubernetes.io/pod-name"
	extraPodUID   = "authentication.kubernetes.io/pod-uid"
	accountPrefix = "system:serviceaccount:"
)

// identityLife is how long a verified token is trusted without another question.
const identityLife = time.Minute

// identities are tokens that the API verified lately.
type identities struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]identity
}

type identity struct {
	home  string
	uid   types.UID
	until time.Time
}

// errNotSynced says that the server does not know its Pods yet.
var errNotSynced = errors.New("the server does not know its runner Pods yet")

// Identify finds the home of a runner by the token of its Pod; empty for strangers.
func (b *Backend) Identify(ctx context.Context, token string) (home string, err error) {
	if ours, err := b.claimsPod(token); !ours { // costs the API nothing
		return "", err
	}
	sum, now := sha256.Sum256([]byte(token)), b.Now()
	i, ok := b.identities.find(sum, now)
	if !ok {
		if i, err = b.review(ctx, token); err != nil {
			return "", err
		}
		i.until = now.Add(identityLife)
		b.identities.keep(sum, i, now)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.synced {
		return "", errNotSynced
	}
	if k := b.pods[i.home]; k == nil || k.uid != i.uid {
		return "", nil
	}
	return i.home, nil
}

// claimsPod reports whether a token says, truly or not, that it belongs to a Pod of this backend.
func (b *Backend) claimsPod(token string) (bool, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return false, nil
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return false, nil //nolint:nilerr // a stranger's
	}
	var claims struct {
		Kubernetes struct {
			Namespace string
			Pod       struct {
				Name string
				UID  types.UID
			}
		} `json:"kubernetes.io"`
	}
	if json.Unmarshal(payload, &claims) != nil {
		return false, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.synced {
		return false, errNotSynced
	}
	k := b.pods[claims.Kubernetes.Namespace+"/"+claims.Kubernetes.Pod.Name]
	return k != nil && k.uid == claims.Kubernetes.Pod.UID, nil
}

func (s *identities) find(sum [sha256.Size]byte, now time.Time) (identity, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.known[sum]
	return i, ok && now.Before(i.until)
}

// maxIdentities limits the remembered tokens: strangers may send as many as they like.
const maxIdentities = 4096

// keep remembers a token, also that of a stranger, and forgets what is too old.
func (s *identities) keep(sum [sha256.Size]byte, i identity, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[[sha256.Size]byte]identity{}
	}
	for old, other := range s.known {
		if !now.Before(other.until) {
			delete(s.known, old)
		}
	}
	if len(s.known) < maxIdentities {
		s.known[sum] = i
	}
}

// review asks the API whose token it is. A stranger's identity is empty.
func (b *Backend) review(ctx context.Context, token string) (identity, error) {
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{Audience}}}
	if err := b.Client.Create(ctx, review); err != nil {
		return identity{}, fmt.Errorf("ask the API whose token a runner has: %w", err)
	}
	status := review.Status
	if !status.Authenticated || !slices.Contains(status.Audiences, Audience) {
		return identity{}, nil
	}
	account, ok := strings.CutPrefix(status.User.Username, accountPrefix)
	namespace, _, _ := strings.Cut(account, ":")
	name, uid := status.User.Extra[extraPodName], status.User.Extra[extraPodUID]
	if !ok || len(name) != 1 || len(uid) != 1 {
		return identity{}, nil
	}
	return identity{home: namespace + "/" + name[0], uid: types.UID(uid[0])}, nil
}

func split(home string) (namespace, name string) {
	namespace, name, _ = strings.Cut(home, "/")
	return namespace, name
}
