// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"fmt"
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

const (
	// worthwhile is the unused space from which rewriting the file pays off: less fills up again
	// within minutes.
	worthwhile = 64 << 20
	// restAfter is the pause between two rewrites. Each one blocks all requests while the used data
	// is copied.
	restAfter = 15 * time.Minute
)

// size is the size of the file's used pages and of the data in them.
type size struct{ file, used int64 }

func (s *Server) size() size {
	backend := s.member.Server.Backend()
	return size{file: backend.Size(), used: backend.SizeInUse()}
}

// keepUp maintains the file's size until the context ends. It asks the member directly, which costs
// nothing.
func (s *Server) keepUp(ctx context.Context) {
	ticker := time.NewTicker(s.options.UpkeepEvery)
	defer ticker.Stop()
	var lastDefrag, lastComplaint, lastWarning time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			switch size := s.size(); {
			case s.isFull():
				err := s.makeSpace(ctx)
				if err != nil && now.Sub(lastComplaint) > time.Minute {
					s.options.Log.Error("the API's store is full and refuses changes", "error", err)
					lastComplaint = now
				}
				s.setTrouble(err)
			case size.isNarrow(s.options.Quota):
				s.setTrouble(nil)
				if now.Sub(lastWarning) > time.Hour {
					s.options.Log.Warn("the API's store is nearly full; once it is full it refuses changes. Delete unused objects",
						"usedMiB", size.used>>20, "quotaMiB", s.options.Quota>>20)
					lastWarning = now
				}
			case size.isWasteful(s.options.Quota) && now.Sub(lastDefrag) > restAfter:
				s.setTrouble(nil)
				s.defragment()
				lastDefrag = now
			default:
				s.setTrouble(nil)
			}
		}
	}
}

// isNarrow reports whether the data alone is near the quota, so that rewriting the file would not
// help.
func (z size) isNarrow(quota int64) bool { return z.used > quota/5*4 }

// Trouble says why the store refuses changes, and what to do; empty while it accepts them.
func (s *Server) Trouble() string {
	if text := s.trouble.Load(); text != nil {
		return *text
	}
	return ""
}

func (s *Server) setTrouble(err error) {
	if err == nil {
		s.trouble.Store(nil)
		return
	}
	text := "the API's store is full and refuses changes: " + err.Error()
	s.trouble.Store(&text)
}

// isWasteful reports whether rewriting the file is worth its pause: half of it is unused, or a
// quarter and it is near its quota.
func (z size) isWasteful(quota int64) bool {
	unused := z.file - z.used
	nearQuota := z.file > quota/4*3
	return unused > worthwhile && (unused > z.file/2 || nearQuota && unused > z.file/4)
}

func (s *Server) isFull() bool {
	return slices.ContainsFunc(s.member.Server.Alarms(), func(a *pb.AlarmMember) bool { return a.Alarm == pb.AlarmType_NOSPACE })
}

// makeSpace drops all history, rewrites the file and, if that made room, clears the alarm.
func (s *Server) makeSpace(ctx context.Context) error {
	before := s.size()
	server := s.member.Server
	if revision := server.KV().Rev(); revision > server.KV().FirstRev() {
		_, err := server.Compact(ctx, &pb.CompactionRequest{Revision: revision, Physical: true})
		if err != nil {
			return fmt.Errorf("drop the store's history: %w", err)
		}
	}
	// Space freed by compaction is known after the next commit. Rewriting blocks all requests, so
	// it must not happen every few seconds for nothing.
	server.Backend().ForceCommit()
	enough := s.options.Quota / 10 * 9
	after := s.size()
	if after.used <= enough {
		s.defragment()
		after = s.size()
	}
	if after.used > enough || after.file > enough {
		return fmt.Errorf("make space in the API's store: its objects alone use %d of %d MiB. Delete objects that are no longer needed, "+
			"those without finalizers first, such as Secrets and ConfigMaps: deleting others needs space", after.used>>20, s.options.Quota>>20)
	}
	_, err := server.Alarm(ctx, &pb.AlarmRequest{
		Action: pb.AlarmRequest_DEACTIVATE, Alarm: pb.AlarmType_NOSPACE, MemberID: uint64(server.MemberID()),
	})
	if err != nil {
		return fmt.Errorf("clear the store's alarm: %w", err)
	}
	s.options.Log.Warn("the API's store was full; its history was dropped and it accepts changes again",
		"beforeMiB", before.file>>20, "afterMiB", after.file>>20, "quotaMiB", s.options.Quota>>20)
	return nil
}

func (s *Server) defragment() {
	start, before := time.Now(), s.size()
	if err := s.member.Server.Backend().Defrag(); err != nil {
		s.options.Log.Warn("rewriting the API's store failed; it is unchanged", "error", err)
		return
	}
	s.options.Log.Debug("rewrote the API's store", "beforeMiB", before.file>>20, "afterMiB", s.size().file>>20,
		"took", time.Since(start))
}
