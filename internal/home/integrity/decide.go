// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package integrity

import (
	"fmt"
	"strings"

	"github.com/yuba-dev/yuba/internal/home/datadir"
)

// Loss is a part that the user may give up to start anyway.
type Loss string

// The possible losses.
const (
	// LossObjects gives up all objects, Secrets among them.
	LossObjects Loss = "objects"
	// LossLastChanges gives up the changes that are only in the store's log.
	LossLastChanges Loss = "last-changes"
	// LossBlobs gives up state versions, logs, plans and archives.
	LossBlobs Loss = "blobs"
	// LossCredentials gives up the kubeconfigs and tokens that were handed out.
	LossCredentials Loss = "credentials"
)

// Losses lists all losses that can be accepted.
var Losses = []Loss{LossObjects, LossLastChanges, LossBlobs, LossCredentials}

// costs describe each loss as a heading of the commands that accept it.
var costs = map[Loss]string{
	LossObjects:     "To give up all objects and start with an empty store; state versions and logs stay",
	LossLastChanges: "To continue with the objects in the database, without the changes of the last moments",
	LossBlobs:       "To give up state versions, logs, plans and archives; objects stay, and so does each state that fits into a Secret",
	LossCredentials: "To create new ones; kubeconfigs and tokens that were handed out become invalid",
}

// problem is why a home is refused.
type problem struct {
	text string
	// lost is the loss to accept; empty if accepting a loss does not help.
	lost Loss
	// keys: restoring the keys of a backup helps.
	keys bool
	// record: the record may be wrong.
	record bool
	// large lists the states that would be lost with the blobs, because no Secret holds them.
	large []string
}

// namedStates is the number of states that a refusal lists.
const namedStates = 5

// cost says what is lost by starting anyway.
func (p *problem) cost() string {
	if p.lost != LossBlobs || len(p.large) == 0 {
		return costs[p.lost]
	}
	named := strings.Join(p.large[:min(len(p.large), namedStates)], ", ")
	if more := len(p.large) - namedStates; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	return costs[p.lost] + ". These states do not fit and are lost: " + named
}

func (p *problem) refusal(dir datadir.Dir) *datadir.RefusedError {
	e := &datadir.RefusedError{Dir: dir, Problem: p.text}
	home := dir.Quoted()
	up := "yuba up --data-dir " + home
	if p.keys {
		e.Ways = append(e.Ways, datadir.Way{To: "To put back the keys of a backup of this home", Commands: []string{"tar -xf FILE -C " + home + " keys"}})
	}
	if p.record {
		e.Ways = append(e.Ways, datadir.Way{To: "If it belongs here because an older Yuba restored a backup", Commands: []string{"rm " + datadir.Quoted(dir.Record())}})
	}
	e.Ways = append(e.Ways, datadir.Way{To: "To replace everything with a backup", Commands: []string{"yuba restore FILE --data-dir " + home, up}})
	if p.lost != "" {
		e.Ways = append(e.Ways, datadir.Way{To: p.cost(), Commands: []string{up + " --accept-loss " + string(p.lost)}})
	}
	return e
}

// decide returns the first problem; nil if Yuba may start. Keys come first: without them the rest
// cannot be checked.
func decide(f facts) *problem {
	for _, rule := range []func(facts) *problem{secretsKeyIsGone, secretsDoNotOpen, blobsKeyIsGone, blobsDoNotOpen, credentialsAreGone,
		storeIsDamaged, storeIsGone, storeIsAnothers, blobsAreGone} {
		if p := rule(f); p != nil {
			return p
		}
	}
	return nil
}

// hasObjects: the store may contain objects, so its keys matter.
func (f facts) hasObjects() bool { return f.damage != nil || !f.store.Empty }

// recorded returns the fingerprint that a key had when the home was last ready.
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
	return &problem{text: "keys/encryption.yaml is missing; without it no Secret of this home can be read", lost: LossObjects, keys: true}
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
	return &problem{text: "keys/blob.agekey is missing; without it no state, log or plan of this home can be read", lost: f.giveUpBlobs(), keys: true}
}

// giveUpBlobs returns no loss for blobs in a bucket: Yuba does not move those.
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
			how = "does not belong to this home"
		}
		return &problem{text: fmt.Sprintf("keys/%s %s, so kubeconfigs and tokens that were handed out would become invalid", name, how), lost: LossCredentials, keys: true}
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
	return &problem{text: "etcd/ has no store, but this home has been used: all objects would be lost", lost: LossObjects}
}

func storeIsAnothers(f facts) *problem {
	if f.record == nil || f.record.Store == "" || f.store.Empty || strings.EqualFold(f.store.Cluster, f.record.Store) {
		return nil
	}
	return &problem{text: fmt.Sprintf("etcd/ is the store of another home (it is %s, this home's is %s)", f.store.Cluster, f.record.Store), lost: LossObjects, record: true}
}

func blobsAreGone(f facts) *problem {
	if f.record == nil || !f.record.Blobs || !f.blobsHere || f.sealed {
		return nil
	}
	return &problem{text: "blobs/ is missing, so state versions, logs and archives would be lost", lost: LossBlobs}
}
