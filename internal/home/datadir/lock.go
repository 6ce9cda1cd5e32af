// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/gofrs/flock"
)

// Holder identifies the process that uses a data directory.
type Holder struct {
	PID     int       `json:"pid"`
	Since   time.Time `json:"since"`
	Address string    `json:"address,omitempty"`
}

// LockedError means that another Yuba uses the data directory.
type LockedError struct {
	Dir    Dir
	Holder Holder
}

func (e *LockedError) Error() string {
	who := "another Yuba"
	if e.Holder.PID != 0 {
		who = fmt.Sprintf("another Yuba (process %d, since %s", e.Holder.PID, e.Holder.Since.Local().Format(time.DateTime))
		if e.Holder.Address != "" {
			who += ", serving " + e.Holder.Address
		}
		who += ")"
	}
	return fmt.Sprintf("lock the data directory %s: %s uses it. Stop it, or choose another directory with --data-dir", e.Dir, who)
}

// Lock is the right to use a data directory.
type Lock struct {
	file   *flock.Flock
	path   string
	holder Holder
}

// lookPatience is how long taking the lock is retried: Held takes it for a moment, too.
const lookPatience = 200 * time.Millisecond

// Held reports whether a process uses the directory.
func (d Dir) Held() (bool, error) {
	path := d.path("lock")
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	file := flock.New(path, flock.SetFlag(os.O_RDONLY))
	free, err := file.TryRLock()
	if err != nil {
		return false, d.Unusable(fmt.Errorf("check whether the data directory %s is in use: %w", d, err))
	}
	return !free, file.Close()
}

// Holder returns the process that uses the directory; ok is false if none does. It may not have a PID yet.
func (d Dir) Holder() (holder Holder, ok bool, err error) {
	held, err := d.Held()
	if err != nil || !held {
		return Holder{}, false, err
	}
	return readHolder(d.path("lock")), true, nil
}

// Lock locks the directory for this process, or returns a LockedError with the holder.
func (d Dir) Lock() (*Lock, error) {
	path := d.path("lock")
	file := flock.New(path, flock.SetPermissions(0o600))
	taken, err := file.TryLock()
	for end := time.Now().Add(lookPatience); err == nil && !taken && time.Now().Before(end); taken, err = file.TryLock() {
		time.Sleep(lookPatience / 20)
	}
	if err != nil {
		return nil, d.Unusable(fmt.Errorf("lock the data directory %s: %w", d, err))
	}
	if !taken {
		return nil, &LockedError{Dir: d, Holder: readHolder(path)}
	}
	l := &Lock{file: file, path: path, holder: Holder{PID: os.Getpid(), Since: time.Now().UTC().Truncate(time.Second)}}
	if err := l.Announce(""); err != nil {
		return nil, err
	}
	return l, nil
}

// Announce records the address that the holder serves, for the error that a second instance gets.
func (l *Lock) Announce(address string) error {
	l.holder.Address = address
	data, err := json.Marshal(l.holder)
	if err != nil {
		return fmt.Errorf("record who holds %s: %w", l.path, err)
	}
	// Write in place: replacing the file would leave the lock on the old one.
	if err := os.WriteFile(l.path, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("record who holds %s: %w", l.path, err)
	}
	return nil
}

// Release unlocks the directory. The file stays: otherwise two processes could lock two files of
// one name.
func (l *Lock) Release() error {
	if err := os.Truncate(l.path, 0); err != nil {
		return fmt.Errorf("release %s: %w", l.path, err)
	}
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("release %s: %w", l.path, err)
	}
	return nil
}

// readHolder returns the content of the lock file, which is empty while the holder writes it.
func readHolder(path string) Holder {
	var holder Holder
	data, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(data, &holder) != nil {
		return Holder{}
	}
	return holder
}
