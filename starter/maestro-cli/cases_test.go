package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/openshift-hyperfleet/maestro-workflows/internal/maestro"
)

// proofs say for each case from the field (D) and each flaw of the old tool (F) which tests prove that it cannot happen
// here.
var proofs = map[string]string{
	"D01 a new nodepool changes the set of manifests, which Maestro refuses": "TestCaseOfAGrownSetIsSaidBeforehand TestMergeOfANewPoolEndsAtOnceWhereTheSetIsImmutable " +
		"TestMergeOfANewPoolWhereTheSetMayChange TestMergesOfOnePartTakeTurnsAndThoseOfAnotherRunBeside TestMergeOfANewManifestOnAStrictServer",
	"D02 objects of one kind in two groups, one object in two versions": "TestCaseOfTwoGroupsKeepsBothObjectsAndOneVersion TestMergeReplacesInPlaceKeepsOthersAndAppends TestIdentitiesLeaveOutTheVersion",
	"D03 a large integer that nobody touched comes back changed":        "TestCaseOfUntouchedNumbersPrintsThemExactly TestMergePublishesUntouchedManifestsByteForByte TestDiffOfTheCases",
	"D04 explicit nulls vanish on the first update":                     "TestExplicitNullsAreStoredByUpdatesToo TestDiffOfTheCases",
	"D05 a comment or Windows line ends hide a document":                "TestCaseOfSeparatorsLosesNoDocument TestACommentOrWindowsLineEndsDoNotHideADocument",
	"D06 the same key twice in one mapping":                             "TestCaseOfDoubledKeysIsRefusedByEveryCommand TestFieldCasesAreRefusedWithAllTheirProblems",
	"D07 aliases that grow to gigabytes":                                "TestFieldCasesAreRefusedWithAllTheirProblems TestParseIsBounded TestHonestAnchorsAreTaken",
	"D08 unquoted true, no and 01":                                      "TestCaseOfTextsKeepsThemTexts TestTextsThatLookLikeOtherThingsStayTexts TestFieldCasesAreRefusedWithAllTheirProblems",
	"D09 fields of an export that Maestro does not take":                "TestDiffOfAnExport TestFieldCasesAreRefusedWithAllTheirProblems TestStrippingAnExportLeavesEverythingElse",
	"D10 values of Secrets in outputs":                                  "TestDiffShowsNoSecretInAnyOutput TestCaseOfSecretChangesStaysSilentInApply TestBuildShowsSecretsInAFileOnly",
	"D17 a feedback rule or a wait that matches nothing":                "TestCaseOfAWaitWithoutARuleIsRefused TestFieldCasesAreRefusedWithAllTheirProblems TestCheckAgainstRefusesWhatCanNeverHold",
	"D21 works that are too large":                                      "TestCaseOfLargeWorksStopsBeforeAWorkflow TestTheMeasuredSizeAndTheLimitAreSaid",
	"D27 autoscaling leaves the replicas behind":                        "TestCaseOfAutoscalingTakesTheReplicasPlace TestRenderSwitchesBetweenReplicasAndAutoScaling",
	"D31 an update drops the executor":                                  "TestCaseOfAnExecutorPrintsItAgain TestMergeAfterAnApplyPublishesItsExecutor TestMergeKeepsExecutorDeleteOptionAndConfigs TestTheExecutorOutlivesAReadAndAnUpdate",

	"D12 a wait passes on the conditions of the version before":    "TestCasesOfWaits TestWaitIgnoresTheStatusOfAnEarlierVersion TestUpdateWaitsForTheNewVersion",
	"D13 Available although the new objects were never applied":    "TestCasesOfWaits TestAvailableIsNotMetWhileTheWorkIsNotApplied TestUpdateThatTheAgentRefusesFails",
	"D14 a Job that failed for good, and a wait that sits it out":  "TestCasesOfWaits TestRefusalThatCannotHealFailsAfterTheGracePeriod",
	"D15 names of conditions, absent and Unknown":                  "TestCasesOfWaits TestExpressionsAgreeWithATruthTable TestParseExpressionPointsAtTheProblem",
	"D16 time-outs that multiply, and waits for what is not there": "TestCasesOfWaits TestTimeoutZeroLooksOnce TestDeadlineCountsFromTheStartOfTheRun TestWaitForAWorkThatIsStillToCome TestRestartsDoNotExtendTheDeadline",
	"D18 a deletion that was only accepted":                        "TestDeletionIsWaitedForUntilTheBundleIsGone TestDeletionIsAskedForAgainFromTimeToTime TestDeletionEndsAWaitForACondition TestCommitWaitsForADeletionUnderWay",
	"D19 conflict and refusal look alike":                          "TestMergeThatLosesTheRaceIsMergedAgain TestRefusalIsFinalAfterTwoPublishesAndCarriesTheServersText TestConflictInWordsOnlyIsARefusal TestUpdateWithoutABaseVersionSendsNothing",
	"D20 the answer of a create is lost":                           "TestLostAnswerToAWriteIsFoundByTheNextAttempt TestAnotherContentAfterALostCreateIsAnUpdate TestWorkerKilledInApply",
	"D24 a worker that restarts in a long wait":                    "TestWorkerKilledInWait TestRestartsDoNotExtendTheDeadline",
	"D25 a reader sees half a results file":                        "TestReaderNeverSeesAnIncompleteDocument TestReporterAcceptsEveryOutcome TestFullDiskIsAnErrorAndLeavesNoTemporaryFile TestChaos",
	"D26 the HyperFleet API takes PUT and three conditions":        "TestBodyHasTheShapeOfTheFieldCase TestBodyIsAlwaysAccepted TestEveryAnswerHasItsClass TestHyperFleetIsToldOnEveryPath TestHyperFleetHearsOfAWork",
	"D28 the first Applied=False is not the last word":             "TestCasesOfWaits TestFirstRefusalIsNotTheLastWord TestRefusalThatHealsSucceeds",
	"D29 lists that stop at a page":                                "TestNamesGoesThroughAllPages TestDeleteAll",
	"D30 a bundle of this name that belongs to somebody else":      "TestCommitDoesNotCreateBesideAnotherSourcesWork TestDeletionOfWhatBelongsToAnother TestSourceAndNameDecideTheBundle",

	"D22 one requester that fails holds up its cluster, or others": "TestFailedRequesterHoldsUpNobody TestBatchThatFailsIsTriedAgainUntilPatienceEnds TestDefectOfABatchEndsItsTicketsAndNotTheMutex",
	"D23 a lock that two hold, that nobody releases, or that dies": "TestHoldersTakeTurns TestLeaseOfADeadHolderEnds TestTerminatedMutexIsAskedAgain TestMutexKeepsItsPromises TestRunsKeepTheMutexsPromises",

	"F1 stale success after an update":                        "TestCasesOfWaits TestEvaluateNeverCountsAnOlderVersion TestApplyWaitsForTheClustersAnswerToItsOwnVersion",
	"F2 precedence, NOT and parentheses":                      "TestParseExpressionBindsNotBeforeAndBeforeOr TestExpressionsAgreeWithATruthTable",
	"F3 no way to fail fast":                                  "TestCasesOfWaits TestRefusalThatCannotHealFailsAfterTheGracePeriod TestWorkThatIsGoneVanished TestRefusedCredentialsEndAWait",
	"F4 a lookup sees the first page":                         "TestReadRefusesAnotherBundle TestSourceAndNameDecideTheBundle",
	"F6 errors and other sources lead to a create":            "TestCommitDoesNotCreateBesideAnotherSourcesWork TestMaestroThatCannotAnswerIsTriedAgain",
	"F7 an identical apply is a new version":                  "TestCommitCreatesUpdatesAndLeavesAlone TestIdenticalApplyPublishesOnce",
	"F8 a deletion under way is not seen":                     "TestCommitWaitsForADeletionUnderWay TestDeletionUnderWayEndsAWaitAndHoldsUpAnApply TestGetShowsADeletionAndAWorkWithoutReport",
	"F9 a time-out leaves no result":                          "TestTimeoutCarriesTheClustersWords TestOnlyFinalResultsAreEncoded TestApplyOutcomes",
	"F10 results before the end, and files that are half":     "TestOnlyFinalResultsAreEncoded TestReaderNeverSeesAnIncompleteDocument TestPrepareRemovesTheFileOfAnEarlierRun",
	"F21 a deletion by name, without wait for its own bundle": "TestDeleteEndsWhenTheBundleIsGone TestDeletionOfWhatBelongsToAnother TestDeletionThatLeavesTheObjects",
	"F33 an update without the version that it was made of":   "TestEveryWriteCarriesTheVersionItWasDecidedOn TestConflictIsReadAgainAndDecidedAgain",
	"F34 an older generation overwrites a newer one":          "TestCommitFencesByGeneration TestForceDoesNotWriteAnOlderGeneration TestChaos",
	"F55 the status after an update is that of before":        "TestCasesOfWaits TestStatusWithoutGenerationsCountsForTheVersionItWasSentFor",
	"F56 a soft deletion without an end":                      "TestDeletionIsWaitedForUntilTheBundleIsGone TestDeletionIsAskedForAgainFromTimeToTime",

	"F2b malformed conditions are never met instead of refused": "TestMalformedConditionsReachNoServer TestParseExpressionPointsAtTheProblem TestMalformedConditionIsRefused",
	"F5 concurrent merges lose each other's manifests":          "TestConcurrentMergesLoseNothing TestMergeThatLosesTheRaceIsMergedAgain TestEveryWriteCarriesTheVersionItWasDecidedOn",
	"F11 the identity of a manifest has no group":               "TestMergeReplacesInPlaceKeepsOthersAndAppends TestMergeIsIdempotentAndMonotone TestMergeRefusesWhatItCannotDo",
	"F11b a merge never removes, or removes what others own":    "TestReplaceRemovesWhatItsOwnerHas TestMergeRespectsOwners TestMergeKeepsTheWorksOwnFields TestRemovedManifestDoesNotComeBack",
	"F12 arguments are judged after the network":                "TestBuildFindsEveryMistakeBeforeItConnects TestBuildNamesEveryWrongArgumentAtOnce TestBuildDryRunShowsTheChangesAndMakesNone TestBuildTakesEveryObjectOfItsSource",
	"F13 unknown fields are dropped":                            "TestUnknownFieldsReachNoServer TestParseRefusesWhatIsNotOneManifestWork",
	"F17 validate cannot find what it looks for":                "TestValidateNamesEachProblem TestValidateFindsEverythingAtOnce TestValidateWarnsAboutConfigsThatMatchNothing TestRulesOfAConfigAreThoseOfTheAPI TestDeleteOptionAndExecutorAreThoseOfTheAPI",
	"F18 diff leaves out fields, and changes its order": "TestDiffCoversTheFieldsOfAWork TestDiffMatchesManifestsByIdentity TestDiffIsTheSameBytesOverAThousandRuns TestDiffIsTheSameTextWhateverTheOrderOfKeys " +
		"TestDiffFindsSomethingExactlyWhenSameDoes",
}

func TestEveryCaseHasItsProofs(t *testing.T) {
	found := map[string]bool{}
	for _, folder := range []string{".", "../../internal/manifest", "../../internal/maestro", "../../activities", "../../worker/wiring", "../../workflows/operation", "../../workflows/clustermutex",
		"../../internal/results", "../../internal/hyperfleet", "../../testsuite/e2e", "../../testsuite/chaos"} {
		files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, path := range files {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			for _, declaration := range file.Decls {
				if function, ok := declaration.(*ast.FuncDecl); ok && function.Recv == nil {
					found[function.Name.Name] = true
				}
			}
		}
	}
	for name, tests := range proofs {
		for _, test := range strings.Fields(tests) {
			assert.True(t, found[test], "%s: there is no %s", name, test)
		}
	}
}

func TestMalformedConditionsReachNoServer(t *testing.T) {
	work := manifestFile(t, workYAML)
	for _, condition := range []string{
		"(Applied OR", "Applied)", "NOT", "Available !", "Applied and Available", "ConfigMap:x==", "ConfigMap:x!=1 OR", "any(Applied)",
	} {
		for _, arguments := range [][]string{
			{"apply", "--manifest-file", work, "--consumer", "cluster-a1", "--wait=" + condition},
			buildOf("--source-file", work, "--apply", "--wait="+condition),
			{"wait", "--name", "web", "--consumer", "cluster-a1", "--for=" + condition},
		} {
			b := &bench{}
			assert.Equal(t, 2, b.run(arguments...), arguments)
			assert.Contains(t, b.stderr.String(), "position ", arguments)
		}
	}
}

func TestUnknownFieldsReachNoServer(t *testing.T) {
	const deletion = "spec:\n  deleteOptions: {propagationPolicy: Orphan}\n  manifestConfig: []\n"
	for text, says := range map[string][]string{
		strings.Replace(workYAML, "spec:\n", deletion, 1):                            {`spec.deleteOptions: unknown field "deleteOptions"`, `spec.manifestConfig: unknown field "manifestConfig"`},
		workYAML[:strings.Index(workYAML, "    manifests:")] + "    manifests: []\n": {"spec.workload.manifests: empty"},
	} {
		file := manifestFile(t, text)
		for _, arguments := range [][]string{
			{"validate", "--manifest-file", file}, {"apply", "--manifest-file", file, "--consumer", "cluster-a1"}, diffOf(file), buildOf("--source-file", file),
		} {
			b := &bench{}
			assert.Equal(t, 2, b.run(arguments...), arguments)
			for _, text := range says {
				assert.Contains(t, b.stderr.String(), text)
			}
		}
	}
}

// A list of JSON and several documents are several objects, be they given as source or as resources.
func TestBuildTakesEveryObjectOfItsSource(t *testing.T) {
	const one, two = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"}}`, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"two"}}`
	for _, text := range []string{"[" + one + "," + two + "]", one + "\n---\n" + two, `{"apiVersion":"v1","kind":"List","items":[` + one + "," + two + "]}"} {
		for _, flag := range []string{"--source-file", "--resource-file"} {
			b := &bench{maestro: &fakeMaestro{err: maestro.ErrNotFound}, stdin: text}
			require.Equal(t, 0, b.run(buildOf("--name", "web", flag, "-", "--dry-run")...), b.stderr.String())
			assert.Regexp(t, `(?s)\+ ConfigMap/one\n.*\+ ConfigMap/two\n`, b.stdout.String())
		}
	}
}
