// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package integrity

import (
	"fmt"
	"strings"

	"github.com/yuba-dev/yuba/internal/home/datadir"
)

// Loss is what may be given up to start all the same.
type Loss string

// The losses.
const (
	// LossObjects gives up all objects, Secrets among them.
	LossObjects Loss = "objects"
	// LossLastChanges gives up what the store's log had and its database has not.
	LossLastChanges Loss = "last-changes"
	// LossBlobs gives up states' versions, logs, plans and archives.
	LossBlobs Loss = "blobs"
	// LossCredentials gives up kubeconfigs and tokens that were handed out.
	LossCredentials Loss = "credentials"
)

// Losses are all that can be accepted.
var Losses = []Loss{LossObjects, LossLastChanges, LossBlobs, LossCredentials}

// costs finish the sentence "To go on …".
var costs = map[Loss]string{
	LossObjects:     "To give up all objects and begin with an empty store; states' versions and logs stay",
	LossLastChanges: "To go on with the objects in the database, without the changes of the last moments",
	LossBlobs:       "To give up versions of states, logs, plans and archives; the objects stay, and with them each state that fits into a Secret",
	LossCredentials: "To make new ones; kubeconfigs and tokens that were handed out end",
}

// problem is why a home is refused.
type problem struct {
	text string
	// lost is the loss to accept for a start as it is; empty when nothing makes that possible.
	lost Loss
	// keys: the keys of a backup mend it.
	keys bool
	// record: the record may be what is wrong.
	record bool
	// large names the states that would be lost with the blobs, because no Secret holds them.
	large []string
}

// namedStates is how many states a refusal names.
const namedStates = 5

// cost says what starting all the same costs.
func (p *problem) cost() string {
	if p.lost != LossBlobs || len(p.large) == 0 {
		return costs[p.lost]
	}
	named := strings.Join(p.large[:min(len(p.large), namedStates)], ", ")
	if more := len(p.large) - namedStates; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	return costs[p.lost] + ". These do not, and are gone: " + named
}

func (p *problem) refusal(dir datadir.Dir) *datadir.RefusedError {
	e := &datadir.RefusedError{Dir: dir, Problem: p.text}
	home := dir.Quoted()
	up := "yuba up --data-dir " + home
	if p.keys {
		e.Ways = append(e.Ways, datadir.Way{To: "To put back the keys of a backup of this home", Commands: []string{"tar -xf FILE -C " + home + " keys"}})
	}
	if p.record {
		e.Ways = append(e.Ways, datadir.Way{To: "If it belongs here, because an older Yuba restored a backup", Commands: []string{"rm " + datadir.Quoted(dir.Record())}})
	}
	e.Ways = append(e.Ways, datadir.Way{To: "To put a backup in the place of everything", Commands: []string{"yuba restore FILE --data-dir " + home, up}})
	if p.lost != "" {
		e.Ways = append(e.Ways, datadir.Way{To: p.cost(), Commands: []string{up + " --accept-loss " + string(p.lost)}})
	}
	return e
}

// decide returns the first problem; nil when Yuba may start. Keys come first: without them the rest cannot be judged.
func decide(f facts) *problem {
	for _, rule := range []func(facts) *problem{secretsKeyIsGone, secretsDoNotOpen, blobsKeyIsGone, blobsDoNotOpen, credentialsAreGone,
		storeIsDamaged, storeIsGone, storeIsAnothers, blobsAreGone} {
		if p := rule(f); p != nil {
			return p
		}
	}
	return nil
}

// hasObjects: something may be in the store, so that its keys matter.
func (f facts) hasObjects() bool { return f.damage != nil || !f.store.Empty }

// recorded is the fingerprint of a key when the home was last ready.
func (f facts) recorded(key string) string {
	if f.record == nil {
		return ""
	}
	return f.record.Keys[key]
}

func secretsKeyIsGone(f facts) *problem {
	if f.keys[secretsKey] != "" || f.recorded(secretsKey) == "" && !f.hasObjects() {
		return nil
	}
	return &problem{text: "keys/encryption.yaml is missing, without which no Secret of this home can be read", lost: LossObjects, keys: true}
}

func secretsDoNotOpen(f facts) *problem {
	if f.secrets == nil {
		return nil
	}
	return &problem{text: fmt.Sprintf("keys/encryption.yaml is not the key of this home's Secrets: %v", f.secrets), lost: LossObjects, keys: true}
}

func blobsKeyIsGone(f facts) *problem {
	if f.keys[blobsKey] != "" || f.recorded(blobsKey) == "" && (!f.sealed || !f.blobsHere) {
		return nil
	}
	return &problem{text: "keys/blob.agekey is missing, without which no state, log or plan of this home can be read", lost: f.giveUpBlobs(), keys: true}
}

// giveUpBlobs: those in a bucket are not ours to move.
func (f facts) giveUpBlobs() Loss {
	if f.blobsHere {
		return LossBlobs
	}
	return ""
}

func blobsDoNotOpen(f facts) *problem {
	if f.unfit == nil {
		return nil
	}
	return &problem{text: fmt.Sprintf("keys/blob.agekey does not open blobs/: %v", f.unfit), lost: LossBlobs, keys: true}
}

func credentialsAreGone(f facts) *problem {
	for _, name := range []string{authorityCertificate, authorityKey, tokenKey} {
		was, is := f.recorded(name), f.keys[name]
		missing := is == "" && (was != "" || f.record == nil && f.hasObjects())
		if changed := is != "" && was != "" && was != is; !missing && !changed {
			continue
		}
		how := "is missing"
		if !missing {
			how = "is not the one of this home"
		}
		return &problem{text: fmt.Sprintf("keys/%s %s, so kubeconfigs and tokens that were handed out would end", name, how), lost: LossCredentials, keys: true}
	}
	return nil
}

func storeIsDamaged(f facts) *problem {
	switch {
	case f.damage == nil:
		return nil
	case f.damage.DatabaseIsWhole:
		return &problem{text: "etcd/" + f.damage.Problem, lost: LossLastChanges}
	}
	return &problem{text: "etcd/" + f.damage.Problem + ", so objects would be missing", lost: LossObjects}
}

func storeIsGone(f facts) *problem {
	mayBeEmpty := !f.used || f.record != nil && f.record.Store == ""
	if !f.store.Empty || mayBeEmpty {
		return nil
	}
	return &problem{text: "etcd/ has no store, and this home has been used: all objects would be gone", lost: LossObjects}
}

func storeIsAnothers(f facts) *problem {
	if f.record == nil || f.record.Store == "" || f.store.Empty || strings.EqualFold(f.store.Cluster, f.record.Store) {
		return nil
	}
	return &problem{text: fmt.Sprintf("etcd/ is the store of another home (it is %s, this one's is %s)", f.store.Cluster, f.record.Store), lost: LossObjects, record: true}
}

func blobsAreGone(f facts) *problem {
	if f.record == nil || !f.record.Blobs || !f.blobsHere || f.sealed {
		return nil
	}
	return &problem{text: "blobs/ is missing, so states' versions, logs and archives would be gone", lost: LossBlobs}
}
