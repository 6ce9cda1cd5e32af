// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package integrity

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/yuba-dev/yuba/internal/home/datadir"
)

// servedName is the certificate that the controllers create once the blobs are open. It identifies
// a used directory without a record.
const servedName = "server-ca.crt"

// CheckBlobs is Check for controllers whose objects are in another API. It checks only the blobs
// and their key, and returns a *datadir.RefusedError if Yuba would start with an empty store.
func CheckBlobs(dir datadir.Dir, blobsHere bool) error {
	f, err := gatherBlobs(dir, blobsHere)
	if err != nil {
		return dir.Unusable(fmt.Errorf("check %s: %w", dir, err))
	}
	for _, rule := range []func(facts) *problem{blobsKeyIsGone, blobsDoNotOpen, recipientIsGone} {
		if p := rule(f); p != nil {
			there, err := hasEntries(dir.Blobs())
			if err != nil {
				return dir.Unusable(fmt.Errorf("check %s: %w", dir, err))
			}
			return p.refusalOfBlobs(dir, f, there, time.Now().UTC().Format(asideStamp))
		}
	}
	return nil
}

// WriteBlobs records the blobs and the key, and keeps the rest of the record. It writes none if
// "yuba up" has left a store or a kubeconfig without one: then the store's loss would go unnoticed.
func WriteBlobs(dir datadir.Dir, blobsHere bool) error {
	f, err := gatherBlobs(dir, blobsHere)
	if err != nil {
		return fmt.Errorf("record which parts of %s belong together: %w", dir, err)
	}
	store, err := exists(dir.Etcd())
	if err != nil {
		return fmt.Errorf("record which parts of %s belong together: %w", dir, err)
	}
	if f.record == nil && (f.ready || store) {
		return nil
	}
	r := &Record{Keys: map[string]string{}, Blobs: blobsHere && f.sealed}
	if f.record != nil {
		r.Store = f.record.Store
		maps.Copy(r.Keys, f.record.Keys)
	}
	r.Keys[blobsKey] = f.keys[blobsKey]
	return write(dir, r)
}

func gatherBlobs(dir datadir.Dir, blobsHere bool) (f facts, err error) {
	if err := f.gatherKept(dir, blobsHere); err != nil {
		return f, err
	}
	served, err := exists(filepath.Join(dir.Keys(), servedName))
	f.used = f.record != nil || f.ready || served
	return f, err
}

// gatherKept gathers the facts about blobs: whether the directory was used, the keys, and whether
// they open the blobs.
func (f *facts) gatherKept(dir datadir.Dir, blobsHere bool) (err error) {
	f.blobsHere = blobsHere
	if f.record, err = read(dir); err != nil {
		return err
	}
	if f.ready, err = exists(dir.Kubeconfig()); err != nil {
		return err
	}
	if f.keys, err = fingerprints(dir); err != nil {
		return err
	}
	if f.sealed, err = exists(filepath.Join(dir.Blobs(), recipientName)); err != nil {
		return err
	}
	if f.sealed && blobsHere && f.keys[blobsKey] != "" {
		f.unfit = blobsOpen(dir)
	}
	return nil
}

// recipientIsGone is blobsAreGone, also for directories without a record. There, the key shows
// whether the directory was used or its blobs were given up.
func recipientIsGone(f facts) *problem {
	recorded := f.record != nil && f.record.Blobs || f.record == nil && f.used && f.keys[blobsKey] != ""
	if !recorded || !f.blobsHere || f.sealed {
		return nil
	}
	return &problem{text: "blobs/.recipient is missing, so state versions, logs and archives would be lost", lost: LossBlobs}
}

// refusalOfBlobs suggests ways that avoid "yuba restore", which is for "yuba up" only. there:
// blobs/ is not empty. aside is the directory for parts that are given up.
func (p *problem) refusalOfBlobs(dir datadir.Dir, f facts, there bool, aside string) *datadir.RefusedError {
	putBack := datadir.Way{To: "To put back the blobs from a copy of this directory", Commands: []string{"cp -a COPY/blobs " + within(dir) + "/"}}
	switch {
	case p.keys:
		putBack = datadir.Way{To: "To put back the key from a copy of this directory", Commands: []string{"cp -a COPY/keys/blob.agekey " + within(dir, "keys") + "/"}}
	case there:
		// The existing blobs may be newer than those of the copy.
		putBack = datadir.Way{To: "To put back that file from a copy of this directory", Commands: []string{"cp -a COPY/blobs/.recipient " + within(dir, "blobs") + "/"}}
	}
	e := &datadir.RefusedError{Dir: dir, Problem: p.text, Ways: []datadir.Way{putBack}}
	switch {
	case p.lost == "":
	case f.record != nil && (f.record.Store != "" || f.ready):
		// "yuba up" updates the record; manually it could only be deleted as a whole.
		e.Ways = append(e.Ways, datadir.Way{To: costs[LossBlobs] + ". Stop it when it is ready, and start the controllers again",
			Commands: []string{"yuba up --data-dir " + dir.Quoted() + " --accept-loss " + string(LossBlobs)}})
	default:
		e.Ways = append(e.Ways, datadir.Way{To: costs[LossBlobs], Commands: givingUpBlobs(dir, f, there, aside)})
	}
	return e
}

// givingUpBlobs returns commands that do what Accept does, in a directory without a record of a
// control plane.
func givingUpBlobs(dir datadir.Dir, f facts, there bool, aside string) (commands []string) {
	hasKey := f.keys[blobsKey] != ""
	if there || hasKey {
		commands = append(commands, "mkdir -p "+within(dir, aside, "keys"))
	}
	if there {
		commands = append(commands, "mv "+within(dir, "blobs")+" "+within(dir, aside)+"/")
	}
	if hasKey {
		commands = append(commands, "mv "+within(dir, "keys", blobsKey)+" "+within(dir, aside, "keys")+"/")
	}
	if f.record != nil {
		commands = append(commands, "rm "+datadir.Quoted(dir.Record()))
	}
	return commands
}

// within returns a path in the directory, quoted for the shell.
func within(dir datadir.Dir, elements ...string) string {
	return datadir.Quoted(filepath.Join(append([]string{string(dir)}, elements...)...))
}

func hasEntries(path string) (bool, error) {
	entries, err := os.ReadDir(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("check the home: %w", err)
	}
	return len(entries) > 0, nil
}
