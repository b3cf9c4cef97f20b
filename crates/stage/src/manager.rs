//! The stages of a program, by their names.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use mely::Handle;

use crate::control::Control;
use crate::error::{CreateError, FindError};
use crate::options::StageOptions;
use crate::safely::{drop_safely, lock};
use crate::shared::ending::Ending;
use crate::shared::stage::Stage;
use crate::shared::{Phase, Shared};
use crate::snapshot::Snapshot;

/// A stage, whatever its events.
trait Managed: Send + Sync {
    fn snapshot(&self) -> Snapshot;
    fn phase(&self) -> Phase;
    fn drain(self: Arc<Self>);
    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}

impl<E: Send + 'static> Managed for Shared<E> {
    fn snapshot(&self) -> Snapshot {
        Snapshot::of(self)
    }

    fn phase(&self) -> Phase {
        Shared::phase(self)
    }

    fn drain(self: Arc<Self>) {
        Shared::end(&self, Ending::Drain);
    }

    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }
}

type ByName = BTreeMap<String, Arc<dyn Managed>>;

/// How many stages there are before those that have ended are looked for.
const MANY: usize = 16;

#[derive(Default)]
struct Stages {
    by_name: ByName,
    /// With how many stages those that have ended are looked for next: twice as many as there
    /// were then, so that it costs each stage little.
    look_at: usize,
}

impl Stages {
    /// Forgets the stages that have ended, and returns them.
    #[must_use = "what they have is the program's: they are not dropped under a lock"]
    fn forget_ended(&mut self) -> ByName {
        let all = std::mem::take(&mut self.by_name).into_iter();
        let (over, living): (ByName, ByName) =
            all.partition(|(_, stage)| stage.phase() == Phase::Over);
        self.by_name = living;
        self.look_at = MANY.max(2 * self.by_name.len());
        over
    }
}

/// Makes stages, and finds them by name: the system manager of *Performance Aspects of the
/// Staged Event-Driven Architecture*.
///
/// Clones are the same manager. Dropping it ends no stage.
///
/// ```
/// use mely_stage::{Manager, StageOptions, each};
/// let rt = mely::Runtime::builder().workers(1).build()?;
/// let stages = Manager::new(&rt);
/// stages.create("log", StageOptions::new(), |_number| each(|_: String| ()))?;
///
/// // Elsewhere, by whoever has the manager:
/// stages.find::<String>("log")?.sink().offer("found".to_owned())?;
/// # rt.wait_idle();
/// assert_eq!(stages.snapshots()[0].counts.handled, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Manager {
    runtime: Handle,
    stages: Arc<Mutex<Stages>>,
}

impl Manager {
    /// A manager of stages on that runtime.
    pub fn new(runtime: &Handle) -> Self {
        Self {
            runtime: runtime.clone(),
            stages: Arc::default(),
        }
    }

    /// Makes a stage. `make` makes a handler for each of its colors or threads, by their
    /// number, before the first batch there; and again after one has panicked.
    ///
    /// # Errors
    ///
    /// The name is taken by a stage that is not ending, or there is no thread for it.
    pub fn create<E, S>(
        &self,
        name: &str,
        options: StageOptions<E>,
        make: impl Fn(usize) -> S + Send + Sync + 'static,
    ) -> Result<Control<E>, CreateError>
    where
        E: Send + 'static,
        S: Stage<E>,
    {
        if self.is_taken(name) {
            return Err(CreateError::NameTaken);
        }
        let make = Box::new(move |number| Box::new(make(number)) as Box<dyn Stage<E>>);
        let (settings, program) = options.into_parts(&self.runtime, make);
        let shared = Shared::begin(name, &self.runtime, settings, program);
        let shared = shared.map_err(CreateError::NoThread)?;
        let mut stages = lock(&self.stages);
        let before = stages
            .by_name
            .get(name)
            .filter(|before| before.phase() == Phase::Open);
        if before.is_some() {
            // Another thread was faster.
            drop(stages);
            shared.end(Ending::Drain);
            return Err(CreateError::NameTaken);
        }
        let managed = Arc::clone(&shared) as Arc<dyn Managed>;
        let before = stages.by_name.insert(name.to_owned(), managed);
        let is_time = stages.by_name.len() >= stages.look_at;
        let over = is_time.then(|| stages.forget_ended());
        drop(stages);
        drop_safely(before);
        drop_safely(over);
        Ok(Control::new(&shared))
    }

    fn is_taken(&self, name: &str) -> bool {
        let stage = lock(&self.stages).by_name.get(name).cloned();
        let is_taken = stage
            .as_ref()
            .is_some_and(|stage| stage.phase() == Phase::Open);
        drop_safely(stage);
        is_taken
    }

    /// The stage of that name.
    ///
    /// # Errors
    ///
    /// There is none that is not ending, or its events are of another type.
    pub fn find<E: Send + 'static>(&self, name: &str) -> Result<Control<E>, FindError> {
        let stage = lock(&self.stages).by_name.get(name).cloned();
        let stage = stage.filter(|stage| stage.phase() == Phase::Open);
        let stage = stage.ok_or(FindError::NoSuchStage)?;
        let shared = stage.as_any().downcast::<Shared<E>>();
        let shared = shared.map_err(|_| FindError::OtherEvents)?;
        Ok(Control::new(&shared))
    }

    /// What all stages do that have not ended, by their names.
    pub fn snapshots(&self) -> Vec<Snapshot> {
        let stages = self.living();
        stages.iter().map(|stage| stage.snapshot()).collect()
    }

    /// Lets all stages drain. Returns at once.
    ///
    /// ```
    /// use mely_stage::{Manager, StageOptions, each};
    /// let rt = mely::Runtime::builder().workers(1).build()?;
    /// let stages = Manager::new(&rt);
    /// stages.create("log", StageOptions::new(), |_| each(|_: u32| ()))?;
    /// stages.end_all();
    /// assert!(stages.find::<u32>("log").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn end_all(&self) {
        self.living().into_iter().for_each(Managed::drain);
    }

    /// The stages that have not ended; the others are forgotten.
    fn living(&self) -> Vec<Arc<dyn Managed>> {
        let (over, living) = {
            let mut stages = lock(&self.stages);
            let over = stages.forget_ended();
            (over, stages.by_name.values().cloned().collect())
        };
        drop_safely(over);
        living
    }
}

impl fmt::Debug for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = lock(&self.stages).by_name.keys().cloned().collect();
        f.debug_struct("Manager").field("stages", &names).finish()
    }
}
